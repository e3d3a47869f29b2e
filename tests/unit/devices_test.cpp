#include "launcher/devices.hpp"

#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <vector>

namespace ddprun {
namespace {

/// A driver's folder of devices, as /proc/driver/nvidia/gpus shows them.
struct NodeWithGpus {
  TempFolder folder;

  /// `uuids` in the order of PCI addresses.
  explicit NodeWithGpus(const std::vector<std::string>& uuids) {
    for (std::size_t i = 0; i < uuids.size(); ++i) {
      (void)folder.write(fmt::format("0000:{:02x}:00.0/information", 0x1a + 0x10 * i),
                         fmt::format("Model: \t\t NVIDIA H100\nIRQ:   \t\t 42\nGPU UUID: \t {}\n"
                                     "Video BIOS: \t 96.00\n",
                                     uuids[i]));
    }
  }
  [[nodiscard]] int visible(const std::optional<std::string>& mask = {}) const {
    return count_visible_gpus(list_gpus(folder.path()), mask);
  }
};

NodeWithGpus four_gpus() {
  return NodeWithGpus({"GPU-aa11", "GPU-aa22", "GPU-bb33", "GPU-cc44"});
}

TEST_CASE("devices: without the driver's folder there is none") {
  const TempFolder folder;
  CHECK(list_gpus(folder.at("none")).empty());
  CHECK(list_gpus(folder.path()).empty());
  CHECK(count_visible_gpus({}, {}) == 0);
  CHECK(count_visible_gpus({}, "0") == 0);
}

TEST_CASE("devices: without a mask all are visible") {
  CHECK(four_gpus().visible() == 4);
}

TEST_CASE("devices: the mask names indices, in any order, with blanks") {
  const NodeWithGpus node = four_gpus();
  CHECK(node.visible("0") == 1);
  CHECK(node.visible("3,1") == 2);
  CHECK(node.visible(" 0 , 1,\t2") == 3);
  CHECK(node.visible("0,1,2,3") == 4);
}

TEST_CASE("devices: an empty mask hides all") {
  CHECK(four_gpus().visible("") == 0);
  CHECK(four_gpus().visible(" ") == 0);
}

TEST_CASE("devices: the list ends at the first entry that names no device") {
  const NodeWithGpus node = four_gpus();
  CHECK(node.visible("-1") == 0);
  CHECK(node.visible("0,-1,1") == 1);
  CHECK(node.visible("0,4,1") == 1);
  CHECK(node.visible("1,x,0") == 1);
  CHECK(node.visible("1,,0") == 1);
  CHECK(node.visible("0,1,") == 2);
  CHECK(node.visible("99999999999999999999") == 0);
  CHECK(node.visible("NoDevFiles") == 0);
}

TEST_CASE("devices: a device may be named by its UUID or by a beginning that is its alone") {
  const NodeWithGpus node = four_gpus();
  CHECK(node.visible("GPU-aa22,GPU-bb33") == 2);
  CHECK(node.visible("GPU-b,GPU-c") == 2);
  CHECK(node.visible("GPU-bb33,0") == 2);
  CHECK(node.visible("GPU-aa") == 0);  // two begin so
  CHECK(node.visible("GPU-zz,0") == 0);
  CHECK(node.visible("aa11") == 0);
  CHECK(node.visible("gpu-aa11") == 0);
}

TEST_CASE("devices: a device named twice leaves none") {
  const NodeWithGpus node = four_gpus();
  CHECK(node.visible("0,1,0") == 0);
  CHECK(node.visible("1,GPU-aa22") == 0);
  CHECK(node.visible("0,-1,0") == 1);  // the list has ended before
}

TEST_CASE("devices: a device without readable information counts, by its index") {
  NodeWithGpus node = four_gpus();
  std::filesystem::create_directories(node.folder.at("0000:ff:00.0"));
  CHECK(node.visible() == 5);
  CHECK(node.visible("4") == 1);
  CHECK(node.visible("GPU-") == 0);
}

TEST_CASE("devices: there is always a core to run on") {
  CHECK(count_usable_cores() >= 1);
}

}  // namespace
}  // namespace ddprun
