// The job files of machines in configs/, each read by a dry run on a pretended node of the machine.
// sites/NAME/ has what the node looks like and what must be printed; NAME.PROFILE is the same with
// that profile. DDPRUN_REWRITE=1 writes what is printed into expected.txt.
#include "launcher/devices/core_set.hpp"
#include "launcher/text/wrapped.hpp"
#include "tests/e2e/kit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string_view>
#include <utility>

namespace e2e {
namespace {

namespace fs = std::filesystem;

const fs::path site_folders = fs::path(E2E_SOURCE_DIR) / "sites";

std::string whole_text(const fs::path& path) {
  std::ifstream file(path);
  REQUIRE_MESSAGE(file.is_open(), path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Lines without those for people.
Words data_lines(const fs::path& path) {
  Words lines = lines_of(whole_text(path));
  std::erase_if(lines, [](const std::string& line) { return line.empty() || line[0] == '#'; });
  return lines;
}

std::set<std::string> names_of_sites() {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(site_folders)) {
    names.insert(entry.path().filename().string());
  }
  return names;
}

/// Builds the folder that pretended_node.cpp describes, from the lines of a machine.txt:
///   host NAME            address IP NAME            interface NAME IP
///   cores LIST           those that the job has
///   siblings OFFSET      from a core to its second hyperthread; 0: it has one
///   numa NODE SOCKET LIST, behind cores and siblings
///   gpu amd|nvidia PCI-ADDRESS NUMA-NODE
class PretendedNode {
 public:
  explicit PretendedNode(fs::path root) : root_(std::move(root)) {
    for (const char* folder : {"proc", "sys"}) fs::create_directories(root_ / folder);
  }

  void add(const std::string& line) {
    const Words words = words_of(line);
    const std::string& what = words.at(0);
    if (what == "host") return append("hostname", words.at(1));
    if (what == "address") return append("hosts", words.at(1) + " " + words.at(2));
    if (what == "interface") return append("interfaces", words.at(1) + " " + words.at(2));
    if (what == "siblings") {
      siblings_ = std::stoi(words.at(1));
    } else if (what == "cores") {
      for (const int core : cores_in(words.at(1))) append("cores", std::to_string(core));
      usable_.merge(cores_in(words.at(1)));
    } else if (what == "numa") {
      add_numa_node(words.at(1), words.at(2), words.at(3));
    } else {
      REQUIRE_MESSAGE(what == "gpu", line);
      add_gpu(words.at(1), words.at(2), words.at(3));
    }
  }

 private:
  static ddprun::CoreSet cores_in(const std::string& text) {
    return ddprun::parse_cores(text).value();
  }

  void append(const std::string& name, const std::string& line) const {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::app) << line << "\n";
  }

  void add_numa_node(const std::string& node, const std::string& socket, const std::string& list) {
    append("sys/devices/system/node/node" + node + "/cpulist", list);
    const ddprun::CoreSet cores = cores_in(list);
    for (const int core : ddprun::intersection(cores, usable_)) {
      const bool is_second = siblings_ > 0 && core >= *cores.begin() + siblings_;
      const int first = is_second ? core - siblings_ : core;
      const std::string siblings =
          siblings_ == 0 ? fmt::format("{}", core) : fmt::format("{},{}", first, first + siblings_);
      const std::string folder = fmt::format("/sys/devices/system/cpu/cpu{}/topology/", core);
      append("cores_shown", folder + "physical_package_id " + socket);
      append("cores_shown", folder + "thread_siblings_list " + siblings);
    }
  }

  void add_gpu(const std::string& vendor, const std::string& address, const std::string& node) {
    append("sys/bus/pci/devices/" + address + "/numa_node", node);
    const int number = ++gpu_count_;
    if (vendor == "nvidia") {
      return append("proc/driver/nvidia/gpus/" + address + "/information",
                    fmt::format("GPU UUID: \t GPU-{}", number));
    }
    const std::string folder = fmt::format("sys/class/kfd/kfd/topology/nodes/{}/", number);
    const unsigned long bus = std::stoul(address.substr(5, 2), nullptr, 16);
    append(folder + "gpu_id", std::to_string(number));
    append(folder + "properties",
           fmt::format("unique_id {}\nlocation_id {}\ndomain 0", number, bus << 8U));
  }

  fs::path root_;
  ddprun::CoreSet usable_;
  int siblings_ = 0;
  int gpu_count_ = 0;
};

/// Without options that nobody has given and those of every test, and without lines and columns of
/// job files. Long lines are broken.
std::string shown(const std::string& out) {
  std::string text;
  bool is_default = false;
  for (std::string line : lines_of(out)) {
    if (line.starts_with("Defaults: ")) is_default = true;
    if (line.empty()) is_default = false;
    if (is_default || line.starts_with("state-dir ")) continue;
    if (const std::size_t at = line.find(".yaml:"); at != std::string::npos) {
      const std::size_t place = at + std::string_view(".yaml").size();
      line.erase(place, line.find_first_not_of(":0123456789", place) - place);
    }
    constexpr std::size_t columns_max = 100;
    const bool fits = line.size() <= columns_max;
    for (const std::string& part : fits ? Words{line} : ddprun::wrapped(line, columns_max)) {
      text += part + "\n";
    }
  }
  return text;
}

/// A dry run of ./train by `job_file` on the node of that site, seen from a folder with configs/.
const Job& dry_run_at(Case& test,
                      const std::string& site,
                      const std::string& job_file,
                      const Words& more = {}) {
  const fs::path root = test.folder() / ("node-" + site);
  if (!fs::exists(root)) {
    PretendedNode node(root);
    for (const std::string& line : data_lines(site_folders / site / "machine.txt")) node.add(line);
  }
  Setup setup{.arguments = Words{"--dry-run", "-f", job_file} + more + Words{"./train", "--lr=1"},
              .environment = {{"LD_PRELOAD", E2E_PRETENDED_NODE}, {"PRETENDED_NODE", root}}};
  for (const std::string& line : data_lines(site_folders / site / "environment.txt")) {
    const std::size_t equals = line.find('=');
    setup.environment[line.substr(0, equals)] = line.substr(equals + 1);
  }
  if (!test.has("train")) (void)test.script("train", "#!/bin/sh\n");
  if (!test.has("configs")) fs::create_directory_symlink(E2E_CONFIGS, test.folder() / "configs");
  return test.run(setup);
}

/// Of a site with that profile, if its name has one.
const Job& dry_run_at(Case& test, const std::string& site) {
  const std::size_t dot = std::min(site.find('.'), site.size());
  const Words profile = dot == site.size() ? Words{} : Words{"--profile", site.substr(dot + 1)};
  return dry_run_at(test, site, "configs/" + site.substr(0, dot) + ".yaml", profile);
}

/// The lists that workers are bound to.
Words core_lists(const std::string& out) {
  Words lists;
  for (const std::string& line : lines_of(out)) {
    const Words words = words_of(line);
    const auto option = std::ranges::find(words, "--cpu-list");
    if (option != words.end()) lists.push_back(*std::next(option));
  }
  return lists;
}

}  // namespace

TEST_CASE_FIXTURE(Case, "e2e sites: each machine's job file starts there what is expected") {
  const char* wish = std::getenv("DDPRUN_REWRITE");
  const bool rewrites = wish != nullptr && std::string_view(wish) == "1";
  for (const std::string& site : names_of_sites()) {
    CAPTURE(site);
    const Job& job = dry_run_at(*this, site);
    CHECK_MESSAGE(job.status() == 0, job.err);
    const fs::path expected = site_folders / site / "expected.txt";
    if (rewrites) std::ofstream(expected) << shown(job.out);
    CHECK(shown(job.out) == whole_text(expected));
  }
}

TEST_CASE("e2e sites: each job file without a program of its own is a machine's that is tested") {
  std::set<std::string> files;
  for (const auto& entry : fs::directory_iterator(E2E_CONFIGS)) {
    const bool is_job_file = entry.path().extension() == ".yaml";
    if (!is_job_file || count_of("\nprogram:", whole_text(entry.path())) > 0) continue;
    files.insert(entry.path().stem().string());
  }
  std::set<std::string> tested;
  for (const std::string& site : names_of_sites()) tested.insert(site.substr(0, site.find('.')));
  CHECK(files == tested);
}

TEST_CASE("e2e sites: what stands for a machine says that nobody has recorded it") {
  for (const std::string& site : names_of_sites()) {
    for (const char* file : {"environment.txt", "machine.txt"}) {
      CAPTURE(site);
      CHECK(whole_text(site_folders / site / file).starts_with("# Constructed, not recorded. "));
    }
  }
}

TEST_CASE_FIXTURE(Case, "e2e sites: another map of cores is not what is expected for LUMI-G") {
  std::string text = whole_text(fs::path(E2E_CONFIGS) / "lumi-g.yaml");
  const std::string_view list = "49-55";
  text.replace(text.find(list), list.size(), "48-54");
  write("changed.yaml", text);
  const Words changed = core_lists(dry_run_at(*this, "lumi-g", "changed.yaml").out);
  CHECK(changed != core_lists(whole_text(site_folders / "lumi-g" / "expected.txt")));
  CHECK(changed.at(0) == "49-54");  // 48 is kept from jobs
}

TEST_CASE_FIXTURE(Case, "e2e sites: LUMI-G's map is what ddprun finds, less the hyperthreads") {
  const Words mapped = core_lists(dry_run_at(*this, "lumi-g").out);
  REQUIRE(mapped.size() == 8);
  write("unmapped.yaml", "nproc_per_node: gpu\ncpu_bind: core\n");
  const Words found = core_lists(dry_run_at(*this, "lumi-g", "unmapped.yaml").out);
  REQUIRE(found.size() == mapped.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    CHECK(found[i].substr(0, found[i].find(',')) == mapped[i]);
  }
}

}  // namespace e2e
