#include "worker/snapshot_folder.hpp"

#include "worker/atomic_file.hpp"
#include "worker/error.hpp"
#include "worker/pt_file.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <tuple>

namespace ddprun::worker {
namespace {

namespace fs = std::filesystem;

struct Numbers {
  std::int64_t generation;
  std::int64_t step;
};

std::optional<std::int64_t> parse_count(std::string_view digits) {
  std::int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [stop, failure] = std::from_chars(digits.data(), end, value);
  constexpr std::int64_t count_max = std::int64_t{1} << 53;
  if (failure != std::errc{} || stop != end || value < 0 || value > count_max) return std::nullopt;
  return value;
}

/// The numbers in "snapshot.pt.GENERATION.STEP", nothing for any other name.
std::optional<Numbers> parse_name(std::string_view link_name, std::string_view name) {
  if (!name.starts_with(link_name)) return std::nullopt;
  name.remove_prefix(link_name.size());
  const std::size_t dot = name.find('.', 1);
  if (!name.starts_with('.') || dot == std::string_view::npos) return std::nullopt;
  const auto generation = parse_count(name.substr(1, dot - 1));
  const auto step = parse_count(name.substr(dot + 1));
  if (!generation || !step) return std::nullopt;
  return Numbers{*generation, *step};
}

Snapshot read_snapshot(const fs::path& path, Contents contents) {
  const c10::IValue value = read_pt_file(path, contents);
  try {
    return from_value(value);
  } catch (const Error& error) {
    throw Error(text(path.string(), ": not a snapshot: ", error.what()));
  }
}

bool newer(const SnapshotFolder::File& left, const SnapshotFolder::File& right) {
  return std::tie(left.generation, left.step, left.name) >
         std::tie(right.generation, right.step, right.name);
}

}  // namespace

SnapshotFolder::SnapshotFolder(const fs::path& link)
    : link_(link), folder_(link.parent_path()), link_name_(link.filename().string()) {
  if (folder_.empty()) folder_ = ".";
  if (link_name_.empty() || fs::is_directory(link)) {
    throw Error(text("the snapshot path ",
                     link.string(),
                     " is a folder; add a file name to it, as in ",
                     (link / "snapshot.pt").string()));
  }
}

std::vector<std::string> SnapshotFolder::names() const {
  std::vector<std::string> names;
  std::error_code failure;
  for (fs::directory_iterator each(folder_, failure), end; !failure && each != end;
       each.increment(failure)) {
    names.push_back(each->path().filename().string());
  }
  if (failure && failure != std::errc::no_such_file_or_directory) {
    throw FileError(text("cannot read the snapshot folder ",
                         folder_.string(),
                         ": ",
                         failure.message(),
                         "; check the path and its permissions"));
  }
  return names;
}

SnapshotFolder::Listing SnapshotFolder::list() const {
  Listing listing;
  std::error_code ignored;
  const fs::path link_target = fs::weakly_canonical(link_, ignored);
  bool link_is_listed = !fs::exists(link_, ignored);
  std::vector<std::string> candidates;
  for (const std::string& name : names()) {
    const auto numbers = parse_name(link_name_, name);
    if (!numbers) continue;
    candidates.push_back(name);
    listing.generation_max = std::max(listing.generation_max, numbers->generation);
    link_is_listed = link_is_listed || fs::weakly_canonical(folder_ / name, ignored) == link_target;
  }
  // A file of another program, such as the tutorial's, or a link that somebody set by hand.
  if (!link_is_listed) candidates.push_back(link_name_);

  for (const std::string& name : candidates) {
    try {
      const Snapshot snapshot = read_snapshot(folder_ / name, Contents::without_tensor_data);
      listing.files.push_back(
          {name, snapshot.generation, snapshot.step > 0 ? snapshot.step : snapshot.epoch});
      listing.generation_max = std::max(listing.generation_max, snapshot.generation);
    } catch (const Error& error) {
      listing.damaged.emplace_back(error.what());
    }
  }
  std::sort(listing.files.begin(), listing.files.end(), newer);
  return listing;
}

Snapshot SnapshotFolder::read(const std::string& name) const {
  return read_snapshot(folder_ / name, Contents::all);
}

std::string SnapshotFolder::write(const Snapshot& snapshot) const {
  std::error_code failure;
  fs::create_directories(folder_, failure);
  if (failure) {
    throw FileError(text("cannot make the snapshot folder ",
                         folder_.string(),
                         ": ",
                         failure.message(),
                         "; check the path and its permissions"));
  }
  const std::string name = text(link_name_, ".", snapshot.generation, ".", snapshot.step);
  write_pt_file(folder_ / name, to_value(snapshot));
  return name;
}

void SnapshotFolder::link_to(const std::string& name) const {
  std::error_code failure;
  if (name == link_name_ || fs::read_symlink(link_, failure) == name) return;
  if (fs::is_regular_file(fs::symlink_status(link_, failure))) {
    fs::path kept = link_;
    for (int i = 1; fs::exists(fs::symlink_status(kept, failure)); ++i) {
      kept = text(link_.string(), ".original.", i);
    }
    fs::rename(link_, kept, failure);
    if (failure) {
      throw FileError(text("cannot rename ",
                           link_.string(),
                           " to ",
                           kept.string(),
                           ": ",
                           failure.message(),
                           "; move it away"));
    }
  }
  link_atomically(link_, name);
}

void SnapshotFolder::remove_old(const Listing& listing, int keep_count) const {
  const auto kept_count = static_cast<std::size_t>(std::max(keep_count, 1));
  for (std::size_t i = kept_count; i < listing.files.size(); ++i) {
    if (listing.files[i].name == link_name_) continue;
    std::error_code ignored;  // A file that cannot be removed costs space, not correctness.
    fs::remove(folder_ / listing.files[i].name, ignored);
  }
}

void SnapshotFolder::remove_temporaries() const {
  for (const std::string& name : names()) {
    if (!is_temporary_of(link_name_, name)) continue;
    std::error_code ignored;
    fs::remove(folder_ / name, ignored);
  }
}

}  // namespace ddprun::worker
