#include "examples/shared/command_line.hpp"

#include "ddprun/run.hpp"

#include <algorithm>
#include <charconv>
#include <iostream>
#include <limits>

namespace ddprun::examples {
namespace {

namespace po = boost::program_options;

std::string shown(double value) {
  return worker::text(value);
}
std::string shown(std::int64_t value) {
  return std::to_string(value);
}
std::string shown(std::uint64_t value) {
  return std::to_string(value);
}

}  // namespace

CommandLine::CommandLine(std::string usage, std::string summary)
    : usage_(std::move(usage)),
      options_(worker::text(summary, "\n\nusage: ", usage_, " [OPTIONS]\n\nOptions")) {
  options_.add_options()("help", "prints this");
}

template <typename Number>
void CommandLine::add_parsed(const std::string& name,
                             Number& value,
                             const std::string& meaning,
                             Number least) {
  const auto parse = [this, name, &value, least](const std::string& given) {
    Number number{};
    const char* end = given.data() + given.size();
    const auto [stop, failure] = std::from_chars(given.data(), end, number);
    const bool is_number = failure == std::errc{} && stop == end && number >= least &&
                           number <= std::numeric_limits<Number>::max();
    if (!is_number) {
      fail(worker::text("--", name, " is \"", given, "\", not a number of at least ", least));
    }
    value = number;
  };
  auto* option =
      po::value<std::string>()->notifier(parse)->default_value(shown(value))->value_name("N");
  options_.add_options()(name.c_str(), option, meaning.c_str());
}

void CommandLine::add_count(const std::string& name,
                            std::int64_t& value,
                            const std::string& meaning,
                            std::int64_t least) {
  add_parsed(name, value, meaning, least);
}

void CommandLine::add_number(const std::string& name, double& value, const std::string& meaning) {
  add_parsed(name, value, meaning, 0.0);
}

void CommandLine::add_text(const std::string& name,
                           std::string& value,
                           const std::string& meaning) {
  auto* option = po::value<std::string>(&value)->value_name("TEXT");
  if (!value.empty()) option->default_value(value);
  options_.add_options()(name.c_str(), option, meaning.c_str());
}

void CommandLine::add_choice(const std::string& name,
                             std::string& value,
                             const std::vector<std::string>& words,
                             const std::string& meaning) {
  const auto choose = [this, name, &value, words](const std::string& given) {
    if (std::find(words.begin(), words.end(), given) == words.end()) {
      std::string list = words.front();
      for (std::size_t i = 1; i < words.size(); ++i) {
        list += (i + 1 < words.size() ? ", " : " or ") + words[i];
      }
      fail(worker::text("--", name, " is \"", given, "\"; give ", list));
    }
    value = given;
  };
  auto* option = po::value<std::string>()->notifier(choose)->value_name("WORD");
  if (!value.empty()) option->default_value(value);
  options_.add_options()(name.c_str(), option, meaning.c_str());
}

void CommandLine::add_flag(const std::string& name, bool& value, const std::string& meaning) {
  options_.add_options()(name.c_str(), po::bool_switch(&value), meaning.c_str());
}

void CommandLine::add_words(const std::vector<std::string>& names) {
  for (const std::string& name : names) words_.add(name.c_str(), 1);
}

void CommandLine::add(JobOptions& options) {
  add_text("data", options.data, "the folder of the data");
  add_flag("synthetic", options.synthetic, "trains on made-up data instead");
  add_count("epochs", options.epochs, "how often each sample is seen");
  add_count("steps", options.steps, "ends after this many optimizer steps; 0: no limit", 0);
  add_count("batch-size", options.batch_size, "samples of each rank in a step");
  add_number("lr", options.lr, "learning rate");
  add_parsed("seed", options.seed, "of initial weights and of the data's order", std::uint64_t{0});
  add_text("weights", options.weights, "a .pt or .safetensors file of weights to begin with");
  add_text("losses", options.losses, "writes the loss of each step, the mean of all ranks, to it");
}

bool CommandLine::read(const std::vector<std::string>& arguments) {
  namespace style = po::command_line_style;
  po::variables_map values;
  try {
    po::store(po::command_line_parser(arguments)
                  .options(options_)
                  .positional(words_)
                  .style(style::unix_style & ~style::allow_guessing)
                  .run(),
              values);
    if (values.count("help") > 0) {
      std::cout << options_ << std::flush;
      return false;
    }
    for (unsigned i = 0; i < words_.max_total_count(); ++i) {
      const std::string& name = words_.name_for_position(i);
      if (values.count(name) == 0 || values[name].defaulted())
        fail("an argument is missing: " + name);
    }
    po::notify(values);
  } catch (const po::error& error) {
    fail(error.what());
  }
  return true;
}

void CommandLine::fail(const std::string& what) const {
  throw worker::UsageError(what + "; usage: " + usage_ + " [OPTIONS]; --help lists them");
}

}  // namespace ddprun::examples
