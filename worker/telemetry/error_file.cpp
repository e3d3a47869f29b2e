#include "worker/telemetry/error_file.hpp"

#include "ddprun/error.hpp"
#include "worker/pt/atomic_file.hpp"
#include "worker/telemetry/utf8.hpp"

#include <c10/util/Type.h>

#include <cstdlib>
#include <ctime>
#include <string_view>
#include <typeinfo>

namespace ddprun::worker {
namespace {

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

/// torchrun's launcher shows what the field py_callstack has; times are texts there, too.
std::string error_json(const std::exception& error, const std::string& line) {
  const std::string type = c10::demangle(typeid(error).name());
  return text("{\"message\":{\"message\":",
              json_string(line),
              ",\"extraInfo\":{\"py_callstack\":",
              json_string(type + ": " + error.what()),
              ",\"timestamp\":\"",
              std::time(nullptr),
              "\",\"type\":",
              json_string(type),
              ",\"rank\":",
              json_string(variable("RANK")),
              "}}}\n");
}

}  // namespace

void leave_error_file(const std::exception& error, const std::string& line) {
  const std::string path(variable("TORCHELASTIC_ERROR_FILE"));
  if (path.empty()) return;
  try {
    const std::string json = error_json(error, line);
    write_atomically(path, [&](FileSink& file) { file.write(json.data(), json.size()); });
  } catch (const std::exception&) {  // a rank that fails has said why already
  }
}

}  // namespace ddprun::worker
