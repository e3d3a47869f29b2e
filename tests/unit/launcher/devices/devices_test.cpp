#include "launcher/devices/devices.hpp"

#include "tests/unit/temp_folder.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <sched.h>

#include <filesystem>
#include <string>
#include <vector>

namespace ddprun {
namespace {

using Uuids = std::vector<std::string>;

/// What drivers show of a node, below a folder instead of "/".
struct GpuNode {
  TempFolder root;

  /// The device in that slot of NVIDIA's, with that minor number.
  void add_nvidia(int slot, const std::string& uuid, int minor) const {
    (void)root.write(fmt::format("proc/driver/nvidia/gpus/0000:{:02x}:00.0/information", slot),
                     fmt::format("Model: \t\t NVIDIA H100\nIRQ:   \t\t 42\nGPU UUID: \t {}\n"
                                 "Video BIOS: \t 96.00\nDevice Minor: \t {}\n",
                                 uuid,
                                 minor));
  }
  void add_amd(int number, const std::string& gpu_id, const std::string& unique_id) const {
    const std::string folder = fmt::format("sys/class/kfd/kfd/topology/nodes/{}/", number);
    (void)root.write(folder + "gpu_id", gpu_id + "\n");
    (void)root.write(folder + "properties",
                     fmt::format("cpu_cores_count 0\nsimd_count 440\nunique_id {}\n", unique_id));
  }
  /// The file by which a device is opened.
  void add_file(const std::string& name) const { (void)root.write("dev/" + name, ""); }
  /// The same, which nobody may open.
  void add_closed_file(const std::string& name) const {
    std::filesystem::create_directories(root.at("dev"));
    std::filesystem::create_symlink(name, root.at("dev/" + name));  // leads nowhere but to itself
  }
  [[nodiscard]] NodeGpus gpus() const { return find_gpus(root.path()); }
};

TEST_CASE("devices: without any driver there is none") {
  const GpuNode node;
  CHECK(node.gpus().uuids.empty());
  CHECK(find_gpus(node.root.at("none")).uuids.empty());
}

TEST_CASE("devices: NVIDIA's are in the order of their PCI addresses") {
  GpuNode node;
  node.add_nvidia(0x9a, "GPU-b", 0);
  node.add_nvidia(0x1a, "GPU-a", 1);
  CHECK(node.gpus().uuids == Uuids{"GPU-a", "GPU-b"});
  CHECK(node.gpus().vendor == GpuVendor::nvidia);
}

TEST_CASE("devices: a device that tells nothing of itself counts, by its index") {
  GpuNode node;
  node.add_nvidia(0x1a, "GPU-a", 0);
  std::filesystem::create_directories(node.root.at("proc/driver/nvidia/gpus/0000:ff:00.0"));
  CHECK(node.gpus().uuids == Uuids{"GPU-a", ""});
}

TEST_CASE("devices: those that this process may not open are none of its own") {
  GpuNode node;
  node.add_nvidia(0x1a, "GPU-a", 0);
  node.add_nvidia(0x2a, "GPU-b", 1);
  node.add_nvidia(0x3a, "GPU-c", 3);
  node.add_nvidia(0x4a, "GPU-d", 2);
  CHECK(node.gpus().uuids.size() == 4);  // the files are made when they are needed first
  node.add_closed_file("nvidia0");
  CHECK(node.gpus().uuids.empty());
  node.add_file("nvidia1");
  node.add_closed_file("nvidia2");
  node.add_file("nvidia3");
  CHECK(node.gpus().uuids == Uuids{"GPU-b", "GPU-c"});
}

TEST_CASE("devices: AMD's are in the order of their nodes, of which processors are none") {
  GpuNode node;
  node.add_amd(10, "2", "2748");
  node.add_amd(0, "0", "0");
  node.add_amd(9, "51140", "16045690984503098046");
  node.add_amd(11, "", "1");  // as where reading is refused
  CHECK(node.gpus().uuids == Uuids{"GPU-deadbeefcafebabe", "GPU-0000000000000abc"});
  CHECK(node.gpus().vendor == GpuVendor::amd);
  node.add_amd(12, "7", "0");
  CHECK(node.gpus().uuids.back().empty());
  node.add_nvidia(0x1a, "GPU-a", 0);
  CHECK(node.gpus().uuids == Uuids{"GPU-a"});
}

TEST_CASE("devices: of Intel's it is known that there are any, where there are no others") {
  GpuNode node;
  (void)node.root.write("sys/bus/pci/drivers/i915/bind", "");
  CHECK(node.gpus().vendor != GpuVendor::intel);
  (void)node.root.write("sys/bus/pci/drivers/xe/0000:3a:00.0/vendor", "0x8086\n");
  CHECK(node.gpus().vendor == GpuVendor::intel);
  CHECK(node.gpus().uuids.empty());
  node.add_amd(1, "7", "1");
  CHECK(node.gpus().vendor == GpuVendor::amd);
}

TEST_CASE("devices: the NUMA nodes of GPUs are those of their PCI devices") {
  const GpuNode nvidia;
  nvidia.add_nvidia(0x1a, "GPU-a", 0);
  nvidia.add_nvidia(0x9a, "GPU-b", 1);
  (void)nvidia.root.write("sys/bus/pci/devices/0000:9a:00.0/numa_node", "1\n");
  CHECK(nvidia.gpus().numa_nodes == std::vector<int>{-1, 1});
  const GpuNode amd;
  amd.add_amd(4, "7", "1");
  (void)amd.root.write("sys/class/kfd/kfd/topology/nodes/4/properties",
                       "location_id 49665\ndomain 1\n");  // 0xc201
  (void)amd.root.write("sys/bus/pci/devices/0001:c2:00.1/numa_node", "3\n");
  CHECK(amd.gpus().numa_nodes == std::vector<int>{3});
}

TEST_CASE("devices: there is always a core to run on, and it is one of the process's") {
  cpu_set_t own;
  REQUIRE(sched_getaffinity(0, sizeof own, &own) == 0);
  const CoreSet cores = usable_cores();
  CHECK(cores.size() == static_cast<std::size_t>(CPU_COUNT(&own)));
  REQUIRE_FALSE(cores.empty());
  CHECK(CPU_ISSET(static_cast<std::size_t>(*cores.begin()), &own));
}

}  // namespace
}  // namespace ddprun
