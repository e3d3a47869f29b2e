// A training of steps of 10 ms by the worker runtime, whose snapshot takes as many seconds as its
// argument says: what a node that joins costs it. Rank 0 keeps the newest step in the file
// "step.GENERATION", and the snapshot is a number, too; each rank prints where it resumes.
#include "ddprun/context.hpp"
#include "ddprun/control.hpp"
#include "ddprun/process_group.hpp"
#include "ddprun/run.hpp"
#include "ddprun/stop_request.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace ddprun;

constexpr std::chrono::milliseconds step_time{10};

void write(const std::string& name, std::int64_t step) {
  std::ofstream(name + ".new") << step;
  std::filesystem::rename(name + ".new", name);
}

void train(const std::vector<std::string>& words) {
  const std::chrono::duration<double> save_time(std::stod(words.at(0)));
  const worker::Context context = worker::Context::from_environment();
  const worker::ProcessGroup group = worker::ProcessGroup::connect(context);
  worker::Control control;
  worker::StopRequest stop(group, &control);
  std::int64_t step = 0;
  std::ifstream("snapshot") >> step;
  std::cout << "resumes at step " << step << "\n";
  const std::string here = std::string("step.") + std::getenv("DDPRUN_GENERATION");
  const auto save = [&] {
    if (context.rank != 0) return;
    control.saving(step);
    std::this_thread::sleep_for(save_time);
    write("snapshot", step);
    control.saved(step);
  };
  while (true) {
    std::this_thread::sleep_for(step_time);
    control.finished_step(++step);
    if (context.rank == 0) write(here, step);
    if (stop.agreed()) {
      save();
      stop.leave("at step " + std::to_string(step));
    }
    if (stop.save_agreed()) save();
  }
}

}  // namespace

int main(int argc, char** argv) {
  return ddprun::worker::run(argc, argv, train);
}
