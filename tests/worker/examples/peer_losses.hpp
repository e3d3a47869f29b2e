// The losses of an example beside those of its peer in Python.
#pragma once

#include "ddprun/error.hpp"
#include "tests/worker/support.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace ddprun::examples::test {

using worker::text;
using worker::test::CommandResult;
using worker::test::contains;
using worker::test::run_command;
using worker::test::TemporaryFolder;

/// The numbers of a file of --losses.
inline std::vector<double> losses_in(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istream_iterator<double>(file), {}};
}

/// Whether each differs by at most 1e-4 from that of the other, and both have some.
inline bool are_close(const std::vector<double>& one, const std::vector<double>& other) {
  bool are_close = !one.empty() && one.size() == other.size();
  for (std::size_t i = 0; are_close && i < one.size(); ++i) {
    are_close = std::abs(one[i] - other[i]) <= 1e-4;
  }
  return are_close;
}

struct PeerRun {
  int ranks;
  std::string words;  ///< Of its command line.
};

/// Runs main() of the Python file `path`, below examples/, in `folder`, one run after the other,
/// each rank in a process with one thread that is forked from one Python, which loads PyTorch once.
/// What a rank of the last run with so many ranks has printed is in the file peer.RANKS.RANK. False
/// without a Python with PyTorch, which is said.
inline bool run_peer(const TemporaryFolder& folder,
                     const std::filesystem::path& path,
                     const std::vector<PeerRun>& runs) {
  const std::filesystem::path examples = EXAMPLES_FOLDER;
  std::string script = text("import os, socket, sys\nsys.path[:0] = ['",
                            (examples / path).parent_path().string(),
                            "', '",
                            (examples / "shared").string(),
                            "']\nimport ",
                            path.stem().string(),
                            " as peer\n",
                            R"(
torch.set_num_threads(1)
def run(ranks, words):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), WORLD_SIZE=str(ranks))
    sys.argv = ["peer"] + words.split()
    children = []
    for rank in range(ranks):
        child = os.fork()
        if child == 0:
            os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank))
            sys.stdout = open(f"peer.{ranks}.{rank}", "w")
            peer.main()
            sys.stdout.close()
            os._exit(0)
        children.append(child)
    assert all(os.waitpid(child, 0)[1] == 0 for child in children), "a rank has failed"
)");
  for (const PeerRun& run : runs) {
    script += text("run(", run.ranks, ", '", run.words, "')\n");
  }
  const auto said = worker::test::run_python(folder, script);
  if (said) CHECK(*said == "");
  return said.has_value();
}

}  // namespace ddprun::examples::test
