#include "launcher/options/job_file.hpp"

#include "launcher/options/job_yaml.hpp"
#include "launcher/options/option_table.hpp"
#include "launcher/options/read_setting.hpp"
#include "launcher/options/variables.hpp"
#include "launcher/system/named_file.hpp"
#include "launcher/text/nearest.hpp"
#include "launcher/text/substitute.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace ddprun {
namespace {

constexpr std::chrono::seconds pipe_patience{5};

/// What a map of keys says: the file's own, or a profile's.
struct Keys {
  Source source;
  bool has_arguments = false;
  YAML::Node profiles;
};

/// Whether the map that is read takes part in the job. In another profile variables may be unset.
enum class Use : std::uint8_t { in_use, unused };

/// Reads one map of keys. Throws a Failure with the place of what is wrong.
class KeysReader {
 public:
  KeysReader(std::string file, const Environment& environment)
      : file_(std::move(file)), environment_(environment) {}

  KeysReader(const KeysReader& of_file, const std::string& profile, Use use)
      : file_(of_file.file_),
        environment_(of_file.environment_),
        suffix_(fmt::format(" (profile {})", profile)),
        use_(use) {}

  [[nodiscard]] Keys read(const YAML::Node& map) const {
    Keys keys;
    std::set<std::string> seen;
    for (const auto& entry : map) {
      const std::string key = with_underscores(word(entry.first, "key"));
      if (!seen.insert(key).second) {
        refuse(entry.first, fmt::format("'{}' stands here twice", key), "keep one of them");
      }
      read_entry(key, entry.first, entry.second, keys);
    }
    return keys;
  }

  /// A scalar as it is written.
  [[nodiscard]] std::string word(const YAML::Node& node, const std::string& key) const {
    if (!node.IsScalar()) {
      refuse(node,
             fmt::format("'{}' is not a single value", key),
             fmt::format("write {}: VALUE", key));
    }
    return node.Scalar();
  }

  /// The position in the file, the error, what to write instead.
  [[noreturn]] void refuse(const YAML::Node& node, std::string why, std::string fix) const {
    throw Failure(
        Error(ExitStatus::usage, position_in(file_, node.Mark()), std::move(why), std::move(fix)));
  }

 private:
  void read_entry(const std::string& key,
                  const YAML::Node& name,
                  const YAML::Node& node,
                  Keys& keys) const {
    const OptionSpec* option = find_option(key);
    const bool may_be_empty = key == "args" || key == "env" || key == "profiles";
    const bool is_known = key == "program" || (option != nullptr && option->is_job_key());
    if (node.IsNull() && is_known && !may_be_empty) {
      refuse(name,
             fmt::format("'{}' has no value", key),
             fmt::format("write {}: VALUE, or leave it out", key));
    }
    if (key == "program") {
      keys.source.program = setting(node, key, {});
    } else if (key == "args") {
      keys.has_arguments = true;
      keys.source.arguments = words(node, key);
    } else if (key == "env") {
      keys.source.environment = variables(node);
    } else if (key == "profiles" && suffix_.empty()) {
      keys.profiles = node;
    } else if (option == nullptr || !option->is_job_key()) {
      refuse(
          name,
          fmt::format("unknown key '{}'", key),
          did_you_mean(key, known_keys(), "ddprun --help lists the options, which are the keys"));
    } else if (option->is_flag()) {
      keys.source.settings[std::string(option->name)] = flag(node, key);
    } else {
      const auto macros = option->is_for_workers() ? std::span(worker_macros) : Macros();
      keys.source.settings[std::string(option->name)] = setting(node, key, macros);
    }
  }

  using Macros = std::span<const std::string_view>;

  [[nodiscard]] std::vector<std::string> known_keys() const {
    std::vector<std::string> keys{"program", "args", "env"};
    if (suffix_.empty()) keys.emplace_back("profiles");
    for (const OptionSpec& option : option_table()) {
      if (option.is_job_key()) keys.push_back(with_underscores(option.name));
    }
    return keys;
  }

  [[nodiscard]] std::string origin_of(const YAML::Node& node) const {
    return position_in(file_, node.Mark()) + suffix_;
  }

  [[nodiscard]] std::string substituted(const YAML::Node& node, Macros macros) const {
    const auto all = substitute(node.Scalar(), environment_, macros);
    if (!all) {
      throw Failure(
          Error(ExitStatus::usage, position_in(file_, node.Mark()), all.error().message(), ""));
    }
    if (all->unset.empty() || use_ == Use::unused) return all->text;
    std::string fix = fmt::format("set it or write ${{{}:-default}}", all->unset);
    if (!macros.empty()) {
      fix += fmt::format("; write $${{{}}} if the worker shall expand it", all->unset);
    }
    refuse(node, fmt::format("variable {} is not set", all->unset), fix);
  }

  /// A value without ${ means itself, so that $$ may be a shell's number.
  [[nodiscard]] std::string value(const YAML::Node& node, Macros macros) const {
    const bool is_plain = node.Scalar().find("${") == std::string::npos;
    return is_plain ? node.Scalar() : substituted(node, macros);
  }

  [[nodiscard]] Setting setting(const YAML::Node& node,
                                const std::string& key,
                                Macros macros) const {
    (void)word(node, key);
    return {value(node, macros), origin_of(node)};
  }

  [[nodiscard]] Setting flag(const YAML::Node& node, const std::string& key) const {
    Setting read = setting(node, key, {});
    bool on = false;
    if (YAML::convert<bool>::decode(YAML::Node(read.value), on)) {
      read.value = on ? "true" : "false";
    } else if (use_ == Use::in_use || read.value == node.Scalar()) {
      refuse(node, fmt::format("'{}' is '{}'", key, read.value), "write true or false");
    }
    return read;
  }

  [[nodiscard]] std::vector<std::string> words(const YAML::Node& node,
                                               const std::string& key) const {
    if (node.IsNull()) return {};  // all of them commented out
    if (!node.IsSequence()) {
      refuse(node,
             fmt::format("'{}' is not a list", key),
             fmt::format("write {}: [--epochs, 10]", key));
    }
    std::vector<std::string> list;
    for (const YAML::Node& item : node) {
      if (!item.IsScalar()) {
        refuse(item, fmt::format("'{}' holds more than plain words", key), "quote the word");
      }
      list.push_back(value(item, worker_macros));
    }
    return list;
  }

  [[nodiscard]] std::map<std::string, Setting> variables(const YAML::Node& node) const {
    if (node.IsNull()) return {};  // all of them commented out
    if (!node.IsMap()) refuse(node, "'env' is not a map", "write env: {NAME: value}");
    std::map<std::string, Setting> all;
    for (const auto& entry : node) {
      const std::string name = word(entry.first, "env");
      check_variable(name, entry.first, entry.second);
      const Setting variable{substituted(entry.second, {}), origin_of(entry.second)};
      if (!all.emplace(name, variable).second) {
        refuse(entry.first, fmt::format("'{}' stands here twice", name), "keep one of them");
      }
    }
    return all;
  }

  void check_variable(const std::string& name,
                      const YAML::Node& key,
                      const YAML::Node& node) const {
    if (node.IsNull()) {
      refuse(key, fmt::format("variable '{}' has no value", name), "write '' for none");
    }
    if (!node.IsScalar()) {
      refuse(node, fmt::format("variable '{}' is not a single value", name), "quote it");
    }
    if (name.empty() || name.find('=') != std::string::npos) {
      refuse(key, fmt::format("'{}' is no name of a variable", name), "leave out the '='");
    }
    if (is_set_by_ddprun(name)) {
      refuse(key, fmt::format("'{}' is ddprun's to set", name), "leave it out");
    }
  }

  std::string file_;
  const Environment& environment_;
  std::string suffix_;  ///< Of origins; empty: this is the file's own map.
  Use use_ = Use::in_use;
};

/// Maps are merged; values and lists take the place of those below.
void lay_over(Source& below, Keys above) {
  if (!above.source.program.value.empty()) below.program = std::move(above.source.program);
  if (above.has_arguments) below.arguments = std::move(above.source.arguments);
  for (auto& [name, setting] : above.source.settings) below.settings[name] = std::move(setting);
  for (auto& [name, setting] : above.source.environment) {
    below.environment[name] = std::move(setting);
  }
}

[[noreturn]] void refuse_profile(const std::string& file,
                                 const Setting& profile,
                                 const std::vector<std::string>& names) {
  const std::string known = fmt::format("it has {}", fmt::join(names, ", "));
  throw Failure(refused_setting("profile",
                                profile,
                                fmt::format("is no profile of {}", file),
                                names.empty() ? "it has no profiles" : known));
}

/// Checks all profiles; the chosen one's keys go over those of the file.
void read_profiles(const std::string& file,
                   const KeysReader& reader,
                   const YAML::Node& profiles,
                   const Setting& chosen,
                   Source& source) {
  std::vector<std::string> names;
  bool found = chosen.value.empty();
  if (profiles.IsDefined() && !profiles.IsNull() && !profiles.IsMap()) {
    reader.refuse(profiles, "'profiles' is not a map", "write profiles: {NAME: {KEY: value}}");
  }
  for (const auto& entry : profiles) {
    const std::string name = reader.word(entry.first, "profiles");
    if (name.empty()) reader.refuse(entry.first, "a profile has no name", "give it one");
    if (std::find(names.begin(), names.end(), name) != names.end()) {
      reader.refuse(entry.first, fmt::format("'{}' stands here twice", name), "keep one of them");
    }
    names.push_back(name);
    if (!entry.second.IsMap() && !entry.second.IsNull()) {
      reader.refuse(entry.second,
                    fmt::format("profile '{}' is not a map of keys", name),
                    fmt::format("write {}: {{KEY: value}}", name));
    }
    const bool is_chosen = name == chosen.value;
    const Use use = is_chosen ? Use::in_use : Use::unused;
    Keys keys = KeysReader(reader, name, use).read(entry.second);
    if (!is_chosen) continue;
    found = true;
    lay_over(source, std::move(keys));
  }
  if (!found) refuse_profile(file, chosen, names);
}

}  // namespace

Result<Source> parse_job_file(const std::string& text,
                              const std::string& name,
                              const Environment& environment,
                              const Setting& profile) {
  try {
    const YAML::Node root = load_job_yaml(text, name);
    const KeysReader reader(name, environment);
    if (!root.IsMap()) reader.refuse(root, "not a map of keys", "write program: ./train");
    Keys keys = reader.read(root);
    read_profiles(name, reader, keys.profiles, profile, keys.source);
    return std::move(keys.source);
  } catch (const YAML::Exception& error) {
    return Error(ExitStatus::usage, position_in(name, error.mark), error.msg, "");
  } catch (const Failure& failure) {
    return failure.error();
  }
}

Result<Source> read_job_file(const std::string& path,
                             const Environment& environment,
                             const Setting& profile) {
  const auto refused = [&](std::string why, std::string fix) {
    return Error(ExitStatus::usage,
                 fmt::format("cannot read job file '{}'", path),
                 std::move(why),
                 std::move(fix));
  };
  std::string text;
  try {
    text = read_named_file(path, job_file_bytes_max + 1, pipe_patience);
  } catch (const std::system_error& error) {
    switch (error.code().value()) {
      case EISDIR:
        return refused("it is a folder", "name the file in it");
      case ETIMEDOUT:
        return refused("nobody writes to this pipe", "name a file, or start the pipe's writer");
      default:
        return refused(std::strerror(error.code().value()), "check the path given to -f");
    }
  }
  if (text.size() > job_file_bytes_max) {
    return refused(fmt::format("it is larger than {} bytes", job_file_bytes_max),
                   "is it a job file?");
  }
  return parse_job_file(text, path, environment, profile);
}

}  // namespace ddprun
