#include "launcher/options/output_options.hpp"

#include "launcher/options/read_setting.hpp"
#include "launcher/text/nearest.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace ddprun {
namespace {

/// "0" to "3"; nothing for anything else.
std::optional<int> streams_in(std::string_view text) {
  const auto number = parse_count(text);
  if (!number || *number > 3) return std::nullopt;
  return static_cast<int>(*number);
}

Result<RankSet> read_ranks(const char* name, const Setting& setting) {
  auto ranks = RankSet::parse(setting.value);
  if (!ranks) {
    return refused_setting(
        name,
        setting,
        "is no set of ranks",
        did_you_mean(setting.value, {"all", "none"}, "write all, none, or ranks as 0,2-5"));
  }
  return *std::move(ranks);
}

Result<StreamMap> read_streams(const char* name, const Setting& setting) {
  auto streams = StreamMap::parse(setting.value);
  if (!streams) {
    return refused_setting(name,
                           setting,
                           "names no streams",
                           "write 1 (stdout), 2 (stderr) or 3 (both), or such a number for each "
                           "local rank as 0:3,1:1");
  }
  return *std::move(streams);
}

/// The texts between commas; two commas stand for one that belongs to a text.
std::vector<std::string> texts_in(std::string_view list) {
  std::vector<std::string> texts(1);
  for (std::size_t at = 0; at < list.size(); ++at) {
    if (list[at] != ',') {
      texts.back() += list[at];
    } else if (list.substr(at).starts_with(",,")) {
      texts.back() += ',';
      ++at;
    } else {
      texts.emplace_back();
    }
  }
  std::erase(texts, "");
  return texts;
}

}  // namespace

std::optional<StreamMap> StreamMap::parse(std::string_view text) {
  StreamMap map;
  if (const auto all = streams_in(text)) {
    map.all_ = *all;
    return map;
  }
  constexpr std::int64_t rank_limit = 1'000'000;
  for (const std::string_view part : parts_of(text)) {
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    const auto rank = parse_count(part.substr(0, colon));
    const auto streams = streams_in(part.substr(colon + 1));
    if (!rank || *rank >= rank_limit || !streams) return std::nullopt;
    map.by_rank_[static_cast<int>(*rank)] = *streams;
  }
  if (map.by_rank_.empty()) return std::nullopt;
  return map;
}

bool StreamMap::contains(LocalRank rank, Stream stream) const {
  const auto found = by_rank_.find(rank.value);
  const int streams = found == by_rank_.end() ? all_ : found->second;
  return (streams & static_cast<int>(stream)) != 0;
}

bool StreamMap::empty() const {
  return all_ == 0 && std::ranges::all_of(by_rank_, [](const auto& each) { return !each.second; });
}

bool StreamMap::names_any(int worker_count) const {
  return all_ != 0 || std::ranges::any_of(by_rank_, [&](const auto& each) {
           return each.first < worker_count && each.second != 0;
         });
}

bool OutputOptions::is_special() const {
  return pty || !log_dir.empty() || !redirects.empty() || !tee.empty() || !prefix.empty() ||
         !out_filters.empty() || !err_filters.empty() || !local_ranks.contains(Rank{0});
}

bool OutputOptions::needs_files(int worker_count) const {
  return redirects.names_any(worker_count) || tee.names_any(worker_count) || !out_filters.empty() ||
         !err_filters.empty();
}

StreamRoute route_of(const OutputOptions& options, Rank rank, LocalRank local_rank, Stream stream) {
  const bool shown =
      options.console.contains(rank) && options.local_ranks.contains(Rank{local_rank.value});
  const bool kept = !options.log_dir.empty();
  if (options.redirects.empty() && options.tee.empty()) return {shown, kept};
  const bool teed = options.tee.contains(local_rank, stream);
  const bool redirected = !teed && options.redirects.contains(local_rank, stream);
  return {shown && !redirected, kept && (teed || redirected)};
}

bool is_one_way(const OutputOptions& options, Rank rank, LocalRank local_rank) {
  const StreamRoute out = route_of(options, rank, local_rank, Stream::out);
  const StreamRoute err = route_of(options, rank, local_rank, Stream::err);
  const bool filters = !options.out_filters.empty() || !options.err_filters.empty();
  return out == err && out.console && !out.file && !filters;
}

std::string prefix_template(const OutputOptions& options, LocalRank local_rank, Stream stream) {
  if (!options.prefix.empty()) return options.prefix;
  if (options.tee.contains(local_rank, stream)) return "[${role_name}${local_rank}]:";
  return "[${hostname}:${rank}] ";
}

Result<OutputOptions> read_output_options(const Settings& all) {
  OutputOptions options;
  Setting console = all.at("console");
  options.pty = console.value == "pty";
  if (options.pty) console.value = "all";
  Setting filter = all.at("local-ranks-filter");  // as torchrun reads it: "0, 1"; empty: all
  std::erase(filter.value, ' ');
  if (filter.value.empty()) filter.value = "all";
  for (const auto& [name, setting, target] :
       {std::tuple{"console", console, &options.console},
        std::tuple{"local-ranks-filter", filter, &options.local_ranks}}) {
    auto ranks = read_ranks(name, setting);
    if (!ranks) return ranks.error();
    *target = *std::move(ranks);
  }
  for (const auto& [name, target] :
       {std::pair{"redirects", &options.redirects}, std::pair{"tee", &options.tee}}) {
    auto streams = read_streams(name, all.at(name));
    if (!streams) return streams.error();
    *target = *std::move(streams);
  }
  options.prefix = all.at("log-line-prefix-template").value;
  options.log_dir = all.at("log-dir").value;
  if (options.log_dir == "/dev/null") options.log_dir.clear();
  options.out_filters = texts_in(all.at("duplicate-stdout-filters").value);
  options.err_filters = texts_in(all.at("duplicate-stderr-filters").value);
  return options;
}

}  // namespace ddprun
