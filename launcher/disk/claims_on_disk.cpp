#include "launcher/disk/claims_on_disk.hpp"

#include "launcher/system/random_number.hpp"
#include "launcher/system/whole_file.hpp"
#include "rendezvous/fd.hpp"
#include "rendezvous/open_to_write.hpp"
#include "rendezvous/result.hpp"
#include "rendezvous/succession/claim_files.hpp"
#include "rendezvous/wire/claim_seal.hpp"
#include "rendezvous/wire/message_codec.hpp"
#include "rendezvous/wire/message_limits.hpp"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace ddprun {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t record_bytes_max = 16 * 1024 * 1024;  // the largest job's is a tenth of it
constexpr std::size_t trial_bytes = 1024 * 1024;            // a record of thousands of nodes

template <typename Number>
bool read_number(std::string_view name, std::string_view prefix, int base, Number& number) {
  if (!name.starts_with(prefix)) return false;
  name.remove_prefix(prefix.size());
  const auto [stop, failure] =
      std::from_chars(name.data(), name.data() + name.size(), number, base);
  return failure == std::errc{} && stop == name.data() + name.size();
}

/// Reads the folder each time: a client may answer from its cache whether one name exists.
FolderNames list(const std::string& path) {
  FolderNames names;
  std::error_code error;
  for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    FolderId folder;
    std::int64_t place = 0;
    if (read_number(name, "proof.", 16, folder.proof)) names.proofs.insert(folder);
    const bool is_claim = read_number(name, "claim.", 10, place) && place < number_max;
    if (is_claim) names.newest = std::max(names.newest, place);
  }
  if (error) names.why = fmt::format("{} cannot be read: {}", path, error.message());
  return names;
}

std::string proof_name(const std::string& path, FolderId folder) {
  return fmt::format("{}/proof.{:016x}", path, folder.proof);
}
std::string claim_name(const std::string& path, std::int64_t place) {
  return fmt::format("{}/claim.{}", path, place);
}

/// A new name for a file that is not linked yet.
std::string record_name(const std::string& path) {
  return fmt::format("{}/record.{:016x}", path, random_number());
}

std::string reason_of(const std::string& path, int reason) {
  return fmt::format("{}: {}", path, std::strerror(reason));
}

/// Whether `file` has a second name.
bool is_linked(const std::string& file) {
  struct stat status {};
  return ::stat(file.c_str(), &status) == 0 && status.st_nlink == 2;
}

/// 0 if `file` has `name` too from now on, whatever link(2) has answered; else its reason.
int add_name(const std::string& file, const std::string& name) {
  if (::link(file.c_str(), name.c_str()) == 0) return 0;
  const int reason = errno;
  return is_linked(file) ? 0 : reason;
}

std::optional<std::string> read_file(const std::string& name) {
  const Fd file(::open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  struct stat status {};
  if (!file.is_open() || ::fstat(file.get(), &status) != 0) return std::nullopt;
  if (!S_ISREG(status.st_mode) || is_of_another_user(file.get(), name)) return std::nullopt;
  std::string bytes;
  std::array<char, 64 * 1024> buffer{};
  while (bytes.size() <= record_bytes_max) {
    const ssize_t count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return std::nullopt;
    if (count == 0) return bytes;
    bytes.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return std::nullopt;
}

/// A folder on the disk. Its claims are sealed with the job's key.
class FilesOnDisk final : public ClaimFiles {
 public:
  FilesOnDisk(const std::string& path, const Key& key) : path_(path), key_(key) {}

  [[nodiscard]] std::string path() const override { return path_; }
  [[nodiscard]] std::string create() override;
  [[nodiscard]] FolderNames names() override { return list(path_); }
  [[nodiscard]] std::optional<Knowledge> read_claim(std::int64_t place) override;
  [[nodiscard]] std::string make_proof(FolderId folder) override;
  void remove_proof(FolderId folder) override { ::unlink(proof_name(path_, folder).c_str()); }
  [[nodiscard]] std::string write_record(const Knowledge& known) override;
  [[nodiscard]] LinkAnswer link_record(std::int64_t place) override;
  void remove_record() override {
    if (!record_.empty()) ::unlink(std::exchange(record_, {}).c_str());
  }

 private:
  const std::string& path_;
  const Key& key_;
  std::string record_;  // the name of a record's file that has no place yet
};

std::string FilesOnDisk::create() {
  std::error_code error;
  fs::create_directories(path_, error);
  return error ? fmt::format("{} cannot be made: {}", path_, error.message()) : "";
}

/// Nothing, too, if the record does not fit its name.
std::optional<Knowledge> FilesOnDisk::read_claim(std::int64_t place) {
  const std::optional<std::string> bytes = read_file(claim_name(path_, place));
  if (!bytes) return std::nullopt;
  const std::optional<std::string_view> record = record_in_claim(*bytes, key_);
  if (!record) return std::nullopt;
  auto known = decode_record(*record);
  if (!known || !known->decided || !known->place || known->place->number != place) {
    return std::nullopt;
  }
  return *std::move(known);
}

/// Tries whether the folder supports hard links and files of `trial_bytes`.
std::string FilesOnDisk::make_proof(FolderId folder) {
  const std::string file = record_name(path_);
  int reason = write_durably(file, std::string(trial_bytes, '\0'), O_EXCL, 0600);
  if (reason == 0 && ::truncate(file.c_str(), 0) != 0) reason = errno;
  std::string why = reason == 0 ? "" : reason_of(path_, reason);
  if (reason == 0) {
    reason = add_name(file, proof_name(path_, folder));
    if (reason == 0 && !is_linked(file)) reason = ENOTSUP;  // cannot detect a lost answer
    if (reason != 0) why = fmt::format("link(2) fails in {}: {}", path_, std::strerror(reason));
  }
  ::unlink(file.c_str());
  if (why.empty()) (void)sync_folder(path_);
  return why;
}

std::string FilesOnDisk::write_record(const Knowledge& known) {
  record_ = record_name(path_);
  const int reason = write_durably(record_, sealed_claim(encode(known), key_), O_EXCL, 0600);
  return reason == 0 ? "" : reason_of(path_, reason);
}

LinkAnswer FilesOnDisk::link_record(std::int64_t place) {
  const int reason = add_name(record_, claim_name(path_, place));
  remove_record();
  if (reason == EEXIST) return {LinkAnswer::Result::exists, ""};
  if (reason != 0) return {LinkAnswer::Result::failed, reason_of(path_, reason)};
  (void)sync_folder(path_);  // others have perhaps read the claim already
  return {LinkAnswer::Result::made, ""};
}

}  // namespace

std::optional<FolderAnswer> use_claims_on_disk(const std::string& path,
                                               const Key& key,
                                               const FolderTask& task) {
  FilesOnDisk files(path, key);
  return perform(task, files);
}

}  // namespace ddprun
