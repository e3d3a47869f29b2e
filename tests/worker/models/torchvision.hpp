// What the tests of the networks share: torchvision's numbers, stored and from a Python that has
// it.
#pragma once

#include "ddprun/module_state.hpp"
#include "ddprun/pt_file.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>
#include <torch/torch.h>
#include <zlib.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

namespace ddprun::worker::test {

/// One network of torchvision 0.29.2 with PyTorch 2.15, as this program prints it:
///   import torch, torchvision, zlib
///   torch.manual_seed(0)
///   net = torchvision.models.resnet18().eval()
///   state = net.state_dict()
///   lines = "".join(f"{name} {list(state[name].shape)}\n" for name in sorted(state))
///   images = (torch.arange(3.0 * 64 * 64) / 8192 - 0.75).reshape(1, 3, 64, 64)
///   print(len(state), sum(p.numel() for p in net.parameters()), hex(zlib.crc32(lines.encode())),
///         net(images)[0, :4])
struct TorchvisionNetwork {
  std::string name;
  std::size_t entries_count;
  std::int64_t parameters_count;
  std::uint32_t names_and_shapes;
  std::vector<double> logits;
};

inline std::uint32_t checksum(const void* bytes, std::size_t size, std::uint32_t before = 0) {
  return static_cast<std::uint32_t>(
      ::crc32_z(before, static_cast<const unsigned char*>(bytes), size));
}

inline std::vector<std::string> sorted_names(const StateDict& state) {
  std::vector<std::string> names = state.keys();
  std::sort(names.begin(), names.end());
  return names;
}

inline std::uint32_t names_and_shapes(const StateDict& state) {
  std::ostringstream lines;
  for (const std::string& name : sorted_names(state)) {
    lines << name << " [";
    const char* separator = "";
    for (const std::int64_t size : state[name].sizes()) {
      lines << separator << size;
      separator = ", ";
    }
    lines << "]\n";
  }
  return checksum(lines.str().data(), lines.str().size());
}

inline std::uint32_t bits(const StateDict& state) {
  std::uint32_t sum = 0;
  for (const std::string& name : sorted_names(state)) {
    sum = checksum(state[name].data_ptr(), state[name].nbytes(), sum);
  }
  return sum;
}

/// The first four logits of `net`, for the images that TorchvisionNetwork names.
template <typename Network>
torch::Tensor first_logits(Network& net) {
  const torch::NoGradGuard no_grad;
  const auto images =
      (torch::arange(3 * 64 * 64, torch::kFloat) / 8192 - 0.75).reshape({1, 3, 64, 64});
  return net->forward(images.to(net->parameters()[0].dtype()))[0].slice(0, 0, 4).to(torch::kDouble);
}

/// Whether `logits` are `expected`, but for what another machine or version rounds in another way,
/// with floats by default. Networks that have not been trained have logits of any size.
inline bool are_close(const torch::Tensor& logits,
                      const torch::Tensor& expected,
                      double tolerance = 2e-5) {
  return (logits - expected).abs().max().item<double>() <=
         tolerance * expected.abs().max().item<double>();
}

/// Checks `net`, made after torch::manual_seed(0), beside what is stored of torchvision's.
template <typename Network>
void check_beside_stored(Network& net, const TorchvisionNetwork& expected) {
  CAPTURE(expected.name);
  const StateDict state = state_dict(*net);
  std::int64_t parameters_count = 0;
  for (const torch::Tensor& parameter : net->parameters()) parameters_count += parameter.numel();
  CHECK(state.size() == expected.entries_count);
  CHECK(parameters_count == expected.parameters_count);
  CHECK(names_and_shapes(state) == expected.names_and_shapes);
  net->eval();
  const torch::Tensor logits = first_logits(net);
  CAPTURE(logits);
  CHECK(are_close(logits, torch::tensor(expected.logits, torch::kDouble)));
}

/// What `script` prints in a Python that has torchvision. Nothing where there is none, which a line
/// on stdout says.
inline std::optional<std::string> run_torchvision(const TemporaryFolder& folder,
                                                  const std::string& script) {
  auto output = run_python(folder,
                           "try: import torchvision\n"
                           "except ImportError: print('no torchvision'), exit(0)\n"
                           "import zlib\n"
                           "torch.set_num_threads(1)\n"
                           "def bits(net):\n"
                           "    sum = 0\n"
                           "    for _, tensor in sorted(net.state_dict().items()):\n"
                           "        sum = zlib.crc32(tensor.numpy().tobytes(), sum)\n"
                           "    return sum\n"
                           "def logits(net):\n"
                           "    with torch.no_grad():\n"
                           "        images = torch.arange(3.0 * 64 * 64) / 8192 - 0.75\n"
                           "        images = images.to(next(net.parameters()).dtype)\n"
                           "        print(*net(images.reshape(1, 3, 64, 64))[0, :4].tolist())\n" +
                               script);
  if (output != "no torchvision\n") return output;
  std::puts(
      "skipped: no torchvision, which comes from PyPI here; name a Python that has it by "
      "TEST_PYTHON");
  return std::nullopt;
}

/// The next four logits in what Python has printed.
inline torch::Tensor read_logits(std::istream& printed) {
  std::vector<double> logits(4);
  for (double& each : logits) printed >> each;
  return torch::tensor(logits, torch::kDouble);
}

}  // namespace ddprun::worker::test
