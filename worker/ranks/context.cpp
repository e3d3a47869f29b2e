#include "ddprun/context.hpp"

#include "ddprun/error.hpp"

#include <charconv>
#include <cstdlib>
#include <limits>
#include <string_view>

namespace ddprun::worker {
namespace {

constexpr std::string_view advice =
    "; start this program with ddprun or torchrun, or set RANK, WORLD_SIZE, MASTER_ADDR and "
    "MASTER_PORT together";

struct Range {
  std::int64_t min;
  std::int64_t max;
};

constexpr Range any_count{0, std::numeric_limits<std::int64_t>::max()};
constexpr Range world_range{1, std::numeric_limits<int>::max()};

class Variables {
 public:
  explicit Variables(const Context::Lookup& lookup) : lookup_(lookup) {}

  [[nodiscard]] std::optional<std::string> find(const std::string& name) const {
    return lookup_(name);
  }

  [[nodiscard]] std::optional<std::int64_t> find_integer(const std::string& name,
                                                         Range range) const {
    const auto value = lookup_(name);
    if (!value) return std::nullopt;
    std::int64_t number = 0;
    const char* end = value->data() + value->size();
    const auto [stop, failure] = std::from_chars(value->data(), end, number);
    if (failure != std::errc{} || stop != end || number < range.min || number > range.max) {
      throw Error(text(name,
                       "=\"",
                       *value,
                       "\" is not a whole number from ",
                       range.min,
                       " to ",
                       range.max,
                       advice));
    }
    return number;
  }

  [[nodiscard]] int integer_or(const std::string& name, Range range, int otherwise) const {
    const auto number = find_integer(name, range);
    return number ? static_cast<int>(*number) : otherwise;
  }

  [[nodiscard]] bool boolean(const std::string& name) const {
    const auto value = lookup_(name);
    if (!value || *value == "False") return false;
    if (*value == "True") return true;
    throw Error(text(name,
                     "=\"",
                     *value,
                     "\" is neither True nor False; unset it unless a ",
                     "launcher hosts the store at MASTER_ADDR:MASTER_PORT"));
  }

 private:
  const Context::Lookup& lookup_;
};

void read_ranks(const Variables& variables, Context& context) {
  const bool has_rank = variables.find("RANK").has_value();
  const bool has_world_size = variables.find("WORLD_SIZE").has_value();
  if (!has_rank && !has_world_size) return;
  if (has_rank != has_world_size) {
    throw Error(
        text(has_rank ? "RANK is set but WORLD_SIZE is not" : "WORLD_SIZE is set but RANK is not",
             advice));
  }
  context.world_size = variables.integer_or("WORLD_SIZE", world_range, 1);
  context.rank = variables.integer_or("RANK", {0, context.world_size - 1}, 0);
  context.local_world_size =
      variables.integer_or("LOCAL_WORLD_SIZE", {1, context.world_size}, context.world_size);
  context.local_rank = variables.integer_or(
      "LOCAL_RANK", {0, context.local_world_size - 1}, context.rank % context.local_world_size);
}

void read_store(const Variables& variables, Context& context) {
  const auto port = variables.find_integer("MASTER_PORT", {1, 65'535});
  const auto address = variables.find("MASTER_ADDR");
  if (address && address->empty()) throw Error(text("MASTER_ADDR is empty", advice));
  if (address && port) {
    context.master_addr = *address;
    context.master_port = static_cast<std::uint16_t>(*port);
  } else if (context.world_size > 1) {
    throw Error(text("WORLD_SIZE is ",
                     context.world_size,
                     " but ",
                     address ? "MASTER_PORT" : "MASTER_ADDR",
                     " is not set",
                     advice));
  }
  context.agent_store = variables.boolean("TORCHELASTIC_USE_AGENT_STORE");
  context.gloo_interfaces = variables.find("GLOO_SOCKET_IFNAME").value_or("");
}

}  // namespace

Context Context::from(const Lookup& lookup) {
  const Variables variables(lookup);
  Context context;
  read_ranks(variables, context);
  // A stray MASTER_ADDR in the environment of a single process started by hand means nothing.
  if (variables.find("RANK")) read_store(variables, context);
  context.restart_count =
      variables.find_integer("TORCHELASTIC_RESTART_COUNT", any_count).value_or(0);
  context.generation =
      variables.find_integer("DDPRUN_GENERATION", any_count).value_or(context.restart_count);
  if (const auto path = variables.find("DDPRUN_SNAPSHOT"); path && !path->empty()) {
    context.snapshot = *path;
  }
  return context;
}

Context Context::from_environment() {
  return from([](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr) return std::nullopt;
    return value;
  });
}

}  // namespace ddprun::worker
