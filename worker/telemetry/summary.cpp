#include "worker/telemetry/summary.hpp"

#include <type_traits>

namespace ddprun::worker {
namespace {

Message plugin(std::string_view name, const Message& content) {
  Message data;
  data.text(1, name);
  if (!content.encoded().empty()) data.message(2, content);
  return Message().message(1, data);
}

/// The value of the plugin "hparams" that has `content` as the field with this number.
Message parameters_value(std::string_view tag, unsigned field, const Message& content) {
  return Message().text(1, tag).message(9, plugin("hparams", Message().message(field, content)));
}

std::uint64_t type_of(const HyperParameter& parameter) {
  constexpr std::uint64_t string_type = 1, bool_type = 2, float64_type = 3;  // DataType
  if (std::holds_alternative<std::string>(parameter)) return string_type;
  return std::holds_alternative<bool>(parameter) ? bool_type : float64_type;
}

/// As a google.protobuf.Value.
Message value_of(const HyperParameter& parameter) {
  return std::visit(
      [](const auto& value) {
        using Type = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Type, std::string>) {
          return Message().text(3, value);
        } else if constexpr (std::is_same_v<Type, bool>) {
          return Message().integer(4, value ? 1 : 0);
        } else {
          return Message().real(2, static_cast<double>(value));
        }
      },
      parameter);
}

}  // namespace

Message scalar_value(std::string_view tag, double value) {
  return Message().text(1, tag).real32(2, static_cast<float>(value));
}

Message image_value(std::string_view tag, const PictureShape& shape, std::string_view png_file) {
  return Message().text(1, tag).message(4,
                                        Message()
                                            .integer(1, shape.height)
                                            .integer(2, shape.width)
                                            .integer(3, shape.channels)
                                            .bytes(4, png_file));
}

Message histogram_value(std::string_view tag, const Histogram& histogram) {
  return Message().text(1, tag).message(5,
                                        Message()
                                            .real(1, histogram.min)
                                            .real(2, histogram.max)
                                            .real(3, histogram.count)
                                            .real(4, histogram.sum)
                                            .real(5, histogram.sum_of_squares)
                                            .reals(6, histogram.limits)
                                            .reals(7, histogram.counts));
}

Message text_value(std::string_view tag, std::string_view markdown) {
  constexpr std::uint64_t string_type = 7;  // DT_STRING
  const Message shape = Message().message(2, Message().integer(1, 1));
  const Message tensor = Message().integer(1, string_type).message(2, shape).text(8, markdown);
  return Message()
      .text(1, std::string(tag) + "/text_summary")
      .message(8, tensor)
      .message(9, plugin("text", {}));
}

Message experiment_value(const HyperParameters& parameters,
                         const std::vector<std::string>& metrics) {
  Message experiment;
  for (const auto& [name, value] : parameters) {
    experiment.message(4, Message().text(1, name).integer(4, type_of(value)));
  }
  for (const std::string& tag : metrics) {
    experiment.message(5, Message().message(1, Message().text(2, tag)));
  }
  return parameters_value("_hparams_/experiment", 2, experiment);
}

Message session_start_value(const HyperParameters& parameters) {
  Message start;
  for (const auto& [name, value] : parameters) {
    start.message(1, Message().text(1, name).message(2, value_of(value)));
  }
  return parameters_value("_hparams_/session_start_info", 3, start);
}

Message session_end_value() {
  constexpr std::uint64_t success = 1;  // STATUS_SUCCESS
  return parameters_value("_hparams_/session_end_info", 4, Message().integer(1, success));
}

}  // namespace ddprun::worker
