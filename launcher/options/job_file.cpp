#include "launcher/options/job_file.hpp"

#include "launcher/options/option_table.hpp"
#include "launcher/options/variables.hpp"
#include "launcher/text/nearest.hpp"
#include "launcher/text/substitute.hpp"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

namespace ddprun {
namespace {

std::string position(const std::string& file, const YAML::Mark& mark) {
  return mark.is_null() ? file : fmt::format("{}:{}:{}", file, mark.line + 1, mark.column + 1);
}

/// The position in the file, the error, what to write instead. Thrown only below read().
[[noreturn]] void refuse(const std::string& file,
                         const YAML::Node& node,
                         std::string why,
                         std::string fix) {
  throw Failure(
      Error(ExitStatus::usage, position(file, node.Mark()), std::move(why), std::move(fix)));
}

std::vector<std::string> known_keys() {
  std::vector<std::string> keys{"program", "args", "env"};
  for (const OptionSpec& option : option_table()) {
    if (!option.command_only && option.name != "file")
      keys.push_back(with_underscores(option.name));
  }
  return keys;
}

Setting scalar(const std::string& file, const std::string& key, const YAML::Node& node) {
  if (!node.IsScalar()) {
    refuse(file,
           node,
           fmt::format("'{}' is not a single value", key),
           fmt::format("write {}: VALUE", key));
  }
  return {node.Scalar(), position(file, node.Mark())};
}

Setting flag(const std::string& file, const std::string& key, const YAML::Node& node) {
  Setting setting = scalar(file, key, node);
  bool on = false;
  if (!YAML::convert<bool>::decode(node, on)) {
    refuse(file, node, fmt::format("'{}' is '{}'", key, setting.value), "write true or false");
  }
  setting.value = on ? "true" : "false";
  return setting;
}

std::vector<std::string> words(const std::string& file,
                               const std::string& key,
                               const YAML::Node& node) {
  if (node.IsNull()) return {};  // all of them commented out
  if (!node.IsSequence()) {
    refuse(file,
           node,
           fmt::format("'{}' is not a list", key),
           fmt::format("write {}: [--epochs, 10]", key));
  }
  std::vector<std::string> list;
  for (const YAML::Node& item : node) {
    if (!item.IsScalar()) {
      refuse(file, item, fmt::format("'{}' holds more than plain words", key), "quote the word");
    }
    list.push_back(item.Scalar());
  }
  return list;
}

std::map<std::string, Setting> variables(const std::string& file,
                                         const YAML::Node& node,
                                         const Environment& environment) {
  if (node.IsNull()) return {};  // all of them commented out
  if (!node.IsMap()) refuse(file, node, "'env' is not a map", "write env: {NAME: value}");
  std::map<std::string, Setting> all;
  for (const auto& entry : node) {
    const std::string name = scalar(file, "env", entry.first).value;
    if (entry.second.IsNull()) {
      refuse(
          file, entry.first, fmt::format("variable '{}' has no value", name), "write '' for none");
    }
    if (!entry.second.IsScalar()) {
      refuse(
          file, entry.second, fmt::format("variable '{}' is not a single value", name), "quote it");
    }
    Setting setting{entry.second.Scalar(), position(file, entry.second.Mark())};
    if (name.empty() || name.find('=') != std::string::npos) {
      refuse(file,
             entry.first,
             fmt::format("'{}' is no name of a variable", name),
             "leave out the '='");
    }
    if (is_set_by_ddprun(name)) {
      refuse(file, entry.first, fmt::format("'{}' is ddprun's to set", name), "leave it out");
    }
    const Result<std::string> value = substitute(setting.value, environment);
    if (!value) refuse(file, entry.second, value.error().message(), "");
    setting.value = *value;
    if (!all.emplace(name, setting).second) {
      refuse(file, entry.first, fmt::format("'{}' stands here twice", name), "keep one of them");
    }
  }
  return all;
}

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
    throw Failure(Error(ExitStatus::usage, position(file_, mark), std::move(why), std::move(fix)));
  }

  std::string file_;
  int depth_ = 0;
  int document_count_ = 0;
};

void check_bounds(const std::string& text, const std::string& file) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  BoundsChecker checker(file);
  while (parser.HandleNextDocument(checker)) continue;
}

Source interpret(const YAML::Node& root, const std::string& file, const Environment& environment) {
  if (!root.IsMap()) refuse(file, root, "not a map of keys", "write program: ./train");
  Source source;
  std::set<std::string> seen;
  for (const auto& entry : root) {
    const std::string key = with_underscores(scalar(file, "key", entry.first).value);
    if (!seen.insert(key).second) {
      refuse(file, entry.first, fmt::format("'{}' stands here twice", key), "keep one of them");
    }
    const OptionSpec* option = find_option(key);
    if (key == "program") {
      source.program = scalar(file, key, entry.second);
    } else if (key == "args") {
      source.arguments = words(file, key, entry.second);
    } else if (key == "env") {
      source.environment = variables(file, entry.second, environment);
    } else if (option == nullptr || option->command_only || option->name == "file") {
      refuse(
          file,
          entry.first,
          fmt::format("unknown key '{}'", key),
          did_you_mean(key, known_keys(), "ddprun --help lists the options, which are the keys"));
    } else {
      source.settings[std::string(option->name)] =
          option->is_flag() ? flag(file, key, entry.second) : scalar(file, key, entry.second);
    }
  }
  return source;
}

}  // namespace

Result<Source> parse_job_file(const std::string& text,
                              const std::string& name,
                              const Environment& environment) {
  try {
    check_bounds(text, name);
    return interpret(YAML::Load(text), name, environment);
  } catch (const YAML::Exception& error) {
    return Error(ExitStatus::usage, position(name, error.mark), error.msg, "");
  } catch (const Failure& failure) {
    return failure.error();
  }
}

Result<Source> read_job_file(const std::string& path, const Environment& environment) {
  const auto refused = [&](std::string why, std::string fix) {
    return Error(ExitStatus::usage,
                 fmt::format("cannot read job file '{}'", path),
                 std::move(why),
                 std::move(fix));
  };
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return refused("it is a folder", "name the file in it");
  std::ifstream file(path, std::ios::binary);
  if (!file) return refused(std::strerror(errno), "check the path given to -f");
  std::string text(job_file_bytes_max + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > job_file_bytes_max) {
    return refused(fmt::format("it is larger than {} bytes", job_file_bytes_max),
                   "is it a job file?");
  }
  if (file.bad()) return refused(std::strerror(errno), "check the file system");
  return parse_job_file(text, path, environment);
}

}  // namespace ddprun
