#include "launcher/allocation/hostlist.hpp"

#include "launcher/text/text_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

namespace ddprun {
namespace {

/// "08-11" of "n[08-11,20]".
struct NumberRange {
  std::uint64_t first = 0;
  std::size_t count = 1;
  std::size_t width = 1;      ///< Shorter numbers get zeros before them.
  std::size_t width_max = 1;  ///< Of the longest one.
};

/// "[08-11,20]".
struct Bracket {
  std::vector<NumberRange> ranges;
  std::size_t count = 0;  ///< Numbers, or more than hosts_max.
  std::size_t width_max = 0;
};

/// "r[1-2]n[08-11]-ib": texts with brackets between them.
struct HostPattern {
  std::vector<std::string> texts;
  std::vector<Bracket> brackets;
  std::size_t host_count = 1;  ///< Or more than hosts_max.
  std::size_t host_bytes = 0;  ///< Of the longest name.
};

bool is_separator(char c) {
  return c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool belongs_to_host(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_' || c == '-' ||
         c == ':';
}

class HostlistReader {
 public:
  explicit HostlistReader(const Setting& list)
      : list_(list), text_(list, "host list", "write names, numbers and ranges as in n[1-3,5]") {}

  Result<std::vector<HostPattern>> read() {
    if (list_.value.size() > hostlist_bytes_max) {
      return text_.refuse(hostlist_bytes_max, "it is too long", "name fewer hosts");
    }
    std::vector<HostPattern> patterns;
    std::size_t host_count = 0;
    for (text_.take_while(is_separator); !text_.is_at_end(); text_.take_while(is_separator)) {
      const std::size_t begin = text_.at();
      Result<HostPattern> pattern = read_pattern();
      if (!pattern) return pattern.error();
      host_count += pattern->host_count;
      if (host_count > hosts_max) return too_many(begin);
      patterns.push_back(std::move(*pattern));
    }
    if (patterns.empty()) return text_.unexpected("a host's name");
    return patterns;
  }

 private:
  Result<HostPattern> read_pattern() {
    const std::size_t begin = text_.at();
    HostPattern pattern;
    if (text_.next() == '-') {
      return text_.refuse(begin, "a host's name begins with '-'", "leave it out");
    }
    pattern.texts.push_back(text_.take_while(belongs_to_host));
    while (text_.consume('[')) {
      Result<Bracket> bracket = read_bracket();
      if (!bracket) return bracket.error();
      pattern.host_count = std::min(pattern.host_count * bracket->count, hosts_max + 1);
      pattern.host_bytes += bracket->width_max;
      pattern.brackets.push_back(std::move(*bracket));
      pattern.texts.push_back(text_.take_while(belongs_to_host));
    }
    for (const std::string& text : pattern.texts) pattern.host_bytes += text.size();
    if (pattern.host_bytes > host_bytes_max) {
      return text_.refuse(begin,
                          fmt::format("a host's name has {} characters", pattern.host_bytes),
                          fmt::format("write {} at most", host_bytes_max));
    }
    if (!text_.is_at_end() && !is_separator(text_.next())) {
      return text_.unexpected("a letter, a digit, '.', '_', '-', ':', '[' or a comma");
    }
    return pattern;
  }

  /// Parses the ranges after "[".
  Result<Bracket> read_bracket() {
    Bracket bracket;
    do {
      const std::size_t begin = text_.at();
      const Result<NumberRange> range = read_range();
      if (!range) return range.error();
      bracket.count += range->count;
      if (bracket.count > hosts_max) return too_many(begin);
      bracket.width_max = std::max(bracket.width_max, range->width_max);
      bracket.ranges.push_back(*range);
    } while (text_.consume(','));
    if (!text_.consume(']')) return text_.unexpected("',' or ']'");
    return bracket;
  }

  Result<NumberRange> read_range() {
    const std::size_t begin = text_.at();
    const Result<std::uint64_t> first = text_.take_number();
    if (!first) return first.error();
    const std::size_t width = text_.at() - begin;
    NumberRange range{*first, 1, width, width};
    if (!text_.consume('-')) return range;
    const std::size_t last_begin = text_.at();
    const Result<std::uint64_t> last = text_.take_number();
    if (!last) return last.error();
    if (*last < *first) {
      return text_.refuse(begin,
                          fmt::format("the range {}-{} ends before it begins", *first, *last),
                          fmt::format("write {}-{}", *last, *first));
    }
    if (*last - *first >= hosts_max) return too_many(begin);
    range.count = static_cast<std::size_t>(*last - *first) + 1;
    range.width_max = std::max(width, text_.at() - last_begin);
    return range;
  }

  [[nodiscard]] Error too_many(std::size_t at) const {
    return text_.refuse(
        at, fmt::format("more than {} hosts", hosts_max), "write smaller ranges, or fewer");
  }

  const Setting& list_;
  TextReader text_;
};

std::vector<std::string> numbers_in(const Bracket& bracket) {
  std::vector<std::string> numbers;
  numbers.reserve(bracket.count);
  for (const NumberRange& range : bracket.ranges) {
    for (std::size_t i = 0; i < range.count; ++i) {
      numbers.push_back(fmt::format("{:0{}}", range.first + i, range.width));
    }
  }
  return numbers;
}

void append_hosts(const HostPattern& pattern, std::vector<std::string>& hosts) {
  std::vector<std::vector<std::string>> numbers;
  for (const Bracket& bracket : pattern.brackets) numbers.push_back(numbers_in(bracket));
  std::vector<std::size_t> chosen(numbers.size());
  for (std::size_t index = 0; index < pattern.host_count; ++index) {
    std::size_t rest = index;
    for (std::size_t turn = 0; turn < numbers.size(); ++turn) {
      const std::size_t bracket = turn == 0 ? numbers.size() - 1 : turn - 1;
      chosen[bracket] = rest % numbers[bracket].size();
      rest /= numbers[bracket].size();
    }
    std::string host = pattern.texts.front();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      host += numbers[i][chosen[i]];
      host += pattern.texts[i + 1];
    }
    hosts.push_back(std::move(host));
  }
}

/// Neighbours such as n08, n09, n10: a stem, and the numbers with it. Without numbers one name.
struct HostRun {
  std::string stem;
  std::string first;
  std::string last;
};

HostRun run_of(const std::string& name) {
  constexpr std::size_t digits_max = 19;  // fit 64 bits
  std::size_t at = name.size();
  while (at > 0 && name.size() - at < digits_max &&
         std::isdigit(static_cast<unsigned char>(name[at - 1])) != 0) {
    --at;
  }
  return {name.substr(0, at), name.substr(at), name.substr(at)};
}

bool continues(const HostRun& run, const HostRun& next) {
  if (next.first.empty() || run.last.empty() || next.stem != run.stem) return false;
  std::uint64_t last = 0;
  std::from_chars(run.last.data(), run.last.data() + run.last.size(), last);
  return next.first == fmt::format("{:0{}}", last + 1, run.first.size());
}

std::string text_of_numbers(const HostRun& run) {
  return run.first == run.last ? run.first : fmt::format("{}-{}", run.first, run.last);
}

}  // namespace

Result<std::vector<std::string>> expand_hosts(const Setting& list) {
  const auto patterns = HostlistReader(list).read();
  if (!patterns) return patterns.error();
  std::vector<std::string> hosts;
  for (const HostPattern& pattern : *patterns) append_hosts(pattern, hosts);
  return hosts;
}

Result<std::size_t> count_hosts(const Setting& list) {
  const auto patterns = HostlistReader(list).read();
  if (!patterns) return patterns.error();
  std::size_t count = 0;
  for (const HostPattern& pattern : *patterns) count += pattern.host_count;
  return count;
}

std::string fold_hosts(const std::vector<std::string>& names) {
  std::vector<HostRun> runs;
  for (const std::string& name : names) {
    HostRun next = run_of(name);
    if (!runs.empty() && continues(runs.back(), next)) {
      runs.back().last = std::move(next.last);
    } else {
      runs.push_back(std::move(next));
    }
  }
  std::string list;
  for (std::size_t i = 0; i < runs.size();) {
    std::string numbers = text_of_numbers(runs[i]);
    bool is_group = runs[i].first != runs[i].last;
    const HostRun& front = runs[i];
    for (++i; i < runs.size() && !front.first.empty() && !runs[i].first.empty() &&
              runs[i].stem == front.stem;
         ++i) {
      numbers += ',' + text_of_numbers(runs[i]);
      is_group = true;
    }
    if (!list.empty()) list += ',';
    list += front.stem + (is_group ? '[' + numbers + ']' : numbers);
  }
  return list;
}

}  // namespace ddprun
