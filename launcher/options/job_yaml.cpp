#include "launcher/options/job_yaml.hpp"

#include "launcher/text/text_reader.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>

#include <cstddef>
#include <sstream>
#include <utility>

namespace ddprun {
namespace {

constexpr int quotes_tried_max = 64;

/// Sees the file's events before any node is made of them.
class BoundsChecker : public YAML::EventHandler {
 public:
  explicit BoundsChecker(std::string file) : file_(std::move(file)) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++document_count_ > 1) refuse_at(mark, "a second document", "one file describes one job");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    refuse_at(mark, "an alias", "write the value out");
  }
  void OnScalar(const YAML::Mark& mark,
                const std::string&,
                YAML::anchor_t,
                const std::string& value) override {
    if (value.find('\0') == std::string::npos) return;
    refuse_at(mark, "a zero byte", "no argument, path or variable can hold one");
  }
  void OnSequenceStart(const YAML::Mark& mark,
                       const std::string&,
                       YAML::anchor_t,
                       YAML::EmitterStyle::value) override {
    descend(mark);
  }
  void OnSequenceEnd() override { --depth_; }
  void OnMapStart(const YAML::Mark& mark,
                  const std::string&,
                  YAML::anchor_t,
                  YAML::EmitterStyle::value) override {
    descend(mark);
  }
  void OnMapEnd() override { --depth_; }

 private:
  void descend(const YAML::Mark& mark) {
    if (++depth_ <= job_file_depth_max) return;
    refuse_at(mark, fmt::format("nested deeper than {}", job_file_depth_max), "a job file is flat");
  }
  [[noreturn]] void refuse_at(const YAML::Mark& mark, std::string why, std::string fix) const {
    throw Failure(
        Error(ExitStatus::usage, position_in(file_, mark), std::move(why), std::move(fix)));
  }

  std::string file_;
  int depth_ = 0;
  int document_count_ = 0;
};

/// Without the blanks at its end: after a line's end yaml-cpp takes the end of the file for the
/// closing quote that is missing.
std::string without_end(const std::string& text, std::size_t size) {
  const std::size_t last = text.substr(0, size).find_last_not_of(" \t\r\n");
  return last == std::string::npos ? std::string() : text.substr(0, last + 1);
}

void check_bounds(const std::string& text, const std::string& file) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  BoundsChecker checker(file);
  while (parser.HandleNextDocument(checker)) continue;
}

bool ends_in_quotes(const std::string& text) {
  try {
    check_bounds(text, {});
  } catch (const YAML::Exception& error) {
    return error.msg == YAML::ErrorMsg::EOF_IN_SCALAR;
  } catch (const Failure&) {
    return false;
  }
  return false;
}

/// The last quote before which none was open; the end of `text` if there are too many to try.
YAML::Mark open_quote(const std::string& text) {
  std::size_t at = text.size();
  for (int tried = 0; tried < quotes_tried_max; ++tried) {
    const std::size_t quote = at == 0 ? std::string::npos : text.find_last_of("'\"", at - 1);
    if (quote == std::string::npos) break;
    at = quote;
    if (!ends_in_quotes(without_end(text, at))) break;
  }
  YAML::Mark mark;
  for (const char c : text.substr(0, at)) {
    mark.column = c == '\n' ? 0 : mark.column + 1;
    if (c == '\n') ++mark.line;
  }
  return mark;
}

/// For what yaml-cpp refuses in that line, counted from 0.
std::string remedy_at(const std::string& text, int line) {
  std::istringstream lines(text);
  std::string found;
  for (int i = 0; i <= line && std::getline(lines, found); ++i) continue;
  const std::string indent = found.substr(0, found.find_first_not_of(" \t"));
  return indent.find('\t') != std::string::npos
             ? "a tab indents this line; write blanks"
             : "see how far it is indented, and quote values that have \": \"; ddprun-job(5) has "
               "examples";
}

}  // namespace

std::string position_in(const std::string& file, const YAML::Mark& mark) {
  return mark.is_null() ? file : fmt::format("{}:{}:{}", file, mark.line + 1, mark.column + 1);
}

YAML::Node load_job_yaml(const std::string& text, const std::string& file) {
  const auto refuse = [&](const YAML::Mark& mark, std::string why, std::string fix) {
    throw Failure(
        Error(ExitStatus::usage, position_in(file, mark), std::move(why), std::move(fix)));
  };
  const std::string trimmed_text = without_end(text, text.size());
  try {
    check_bounds(trimmed_text, file);
    return YAML::Load(text);
  } catch (const YAML::Exception& error) {
    if (text.find('\0') != std::string::npos) {  // UTF-16 has some, and is read
      refuse(error.mark, "this is binary, it has zero bytes", "is it a job file?");
    }
    if (error.msg != YAML::ErrorMsg::EOF_IN_SCALAR) {
      refuse(error.mark, printable(error.msg), remedy_at(trimmed_text, error.mark.line));
    }
    refuse(open_quote(trimmed_text), "a quote is not closed", "close it");
  }
  return {};
}

}  // namespace ddprun
