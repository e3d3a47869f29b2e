#include "worker/telemetry/utf8.hpp"

#include <nlohmann/json.hpp>

namespace ddprun::worker {

std::string json_string(std::string_view bytes) {
  return nlohmann::json(bytes).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string as_utf8(std::string_view bytes) {
  return nlohmann::json::parse(json_string(bytes)).get<std::string>();
}

}  // namespace ddprun::worker
