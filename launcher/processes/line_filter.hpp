// Keeps the lines of a stream that have one of some texts. Pure.
#pragma once

#include "launcher/processes/lines.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

class LineFilter {
 public:
  /// Each line that is kept gets the prefix, in which `texts` are looked for as well.
  LineFilter(std::string prefix, std::vector<std::string> texts)
      : lines_(std::move(prefix)), texts_(std::move(texts)) {}

  /// Those of the lines that `bytes` complete.
  [[nodiscard]] std::string feed(std::string_view bytes) { return kept(lines_.feed(bytes)); }

  /// The line that was begun and never ended, with an ending, if it is to be kept.
  [[nodiscard]] std::string finish() { return kept(lines_.finish()); }

 private:
  [[nodiscard]] std::string kept(std::string_view lines);

  LinePrefixer lines_;
  std::vector<std::string> texts_;
  bool has_kept_ = false;  // the newest line,
  bool returned_ = false;  // which ends with "\r"
};

}  // namespace ddprun
