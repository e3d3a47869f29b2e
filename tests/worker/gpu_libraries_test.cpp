// What CMake makes of a LibTorch with GPUs, of which none is needed: fake_torch/ has the names of
// its targets alone.
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <regex>
#include <string>

namespace ddprun::worker {
namespace {

using test::contains;

/// What CMake says of a LibTorch with these `gpus`, "cuda", "hip" or none, on a machine whose
/// headers lie under `folder`.
std::string configured(const test::TemporaryFolder& folder,
                       const std::string& gpus,
                       const std::string& version = "2.7.1") {
  const test::CommandResult ran =
      test::run_command(folder,
                        "rm -rf build && env -u ROCM_PATH " CMAKE " -G Ninja -S " FAKE_TORCH
                        " -B build -DFAKE_GPUS=" +
                            gpus + " -DFAKE_VERSION=" + version +
                            " -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY -DCMAKE_FIND_ROOT_PATH=" +
                            folder.path().string());
  const std::regex wrapped("\n [\n ]*");
  return std::regex_replace(ran.output + ran.error, wrapped, " ");
}

TEST_CASE("CMake: a LibTorch without GPUs needs neither NCCL nor RCCL") {
  const test::TemporaryFolder folder;
  CHECK(contains(configured(folder, ""), "compiled with definitions-NOTFOUND"));
}

TEST_CASE("CMake: a LibTorch with GPUs whose library's header is missing is refused by name") {
  const test::TemporaryFolder folder;
  CHECK(contains(configured(folder, "cuda"),
                 "LibTorch has CUDA, but nccl.h was not found: set DDPRUN_NCCL_INCLUDE_DIR to its "
                 "folder"));
  CHECK(contains(configured(folder, "hip"),
                 "LibTorch has ROCm, but rccl/rccl.h was not found: set DDPRUN_RCCL_INCLUDE_DIR "
                 "to its folder"));
}

TEST_CASE("CMake: with the header of NCCL or RCCL a LibTorch with GPUs uses it") {
  const test::TemporaryFolder folder;
  const std::string usual = (folder / "usr/include").string();
  const std::string of_rocm = (folder / "opt/rocm/include").string();
  std::filesystem::create_directories(usual);
  std::filesystem::create_directories(of_rocm + "/rccl");
  test::write_bytes(usual + "/nccl.h", "");
  test::write_bytes(of_rocm + "/rccl/rccl.h", "");
  CHECK(contains(configured(folder, "cuda"), "compiled with USE_C10D_NCCL and " + usual));
  CHECK(contains(configured(folder, "hip"), "compiled with USE_C10D_NCCL and " + of_rocm));
}

TEST_CASE("CMake: a LibTorch with GPUs from before 2.0 is refused") {
  const test::TemporaryFolder folder;
  for (const std::string gpus : {"cuda", "hip"}) {
    CHECK(contains(configured(folder, gpus, "1.13.1"), "use LibTorch 2.0 or later"));
  }
}

}  // namespace
}  // namespace ddprun::worker
