// Where each worker's output goes, to the console and to files, and with which prefix. Pure.
#pragma once

#include "launcher/text/settings.hpp"
#include "launcher/text/values.hpp"
#include "rendezvous/result.hpp"
#include "rendezvous/units.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddprun {

/// By torchrun's number of it.
enum class Stream : std::uint8_t { out = 1, err = 2 };

/// Some streams of some workers of a node, as torchrun's --redirects and --tee name them.
class StreamMap {
 public:
  /// "0" (none), "1" (stdout), "2" (stderr) or "3" (both) of all workers, or by local rank, those
  /// not named having none: "0:3,12:1".
  [[nodiscard]] static std::optional<StreamMap> parse(std::string_view text);

  [[nodiscard]] bool contains(LocalRank rank, Stream stream) const;
  [[nodiscard]] bool empty() const;
  /// Whether one of the local ranks below `worker_count` has a stream in it.
  [[nodiscard]] bool names_any(int worker_count) const;

 private:
  int all_ = 0;                 // a sum of Streams
  std::map<int, int> by_rank_;  // likewise
};

struct OutputOptions {
  RankSet console;      ///< Of the job's ranks, whose output is shown,
  RankSet local_ranks;  ///< if it is one of these on its node, too.
  bool pty = false;     ///< The console is shown to workers as a terminal, of each its own.
  StreamMap redirects;
  StreamMap tee;
  std::string prefix;                    ///< A template; empty: the usual one.
  std::string log_dir;                   ///< Empty: no files.
  std::vector<std::string> out_filters;  ///< Lines with one of them are kept in a file apart.
  std::vector<std::string> err_filters;

  /// Whether a worker's streams are to be told apart, or kept, or shown changed, so that it cannot
  /// have ddprun's own.
  [[nodiscard]] bool is_special() const;
  /// Whether output of one of a node's workers is to be written to files. torchrun makes a folder
  /// then if none is named.
  [[nodiscard]] bool needs_files(int worker_count) const;
};

struct StreamRoute {
  bool console = false;
  bool file = false;
  friend bool operator==(const StreamRoute&, const StreamRoute&) = default;
};

/// With --log-dir alone every stream goes both ways; with --redirects or --tee those that they name
/// go to files, the redirected ones to the console no more.
[[nodiscard]] StreamRoute route_of(const OutputOptions& options,
                                   Rank rank,
                                   LocalRank local_rank,
                                   Stream stream);

/// Whether a worker's stdout and stderr are both shown and go no other way: if the console is one
/// for both, one pipe can keep the order in which they are written.
[[nodiscard]] bool is_one_way(const OutputOptions& options, Rank rank, LocalRank local_rank);

/// The template of a stream's prefix: the user's, else torchrun's for what is teed, else ddprun's.
[[nodiscard]] std::string prefix_template(const OutputOptions& options,
                                          LocalRank local_rank,
                                          Stream stream);

/// From --console, --local-ranks-filter, --redirects, --tee, --log-line-prefix-template, --log-dir
/// and --duplicate-*-filters. The folder /dev/null is none, as in torchrun.
[[nodiscard]] Result<OutputOptions> read_output_options(const Settings& all);

}  // namespace ddprun
