// Replacement of ${NAME} in texts of the job file and in arguments of workers.
//
// Bound: defaults nest `substitution_depth_max` deep.
#pragma once

#include "rendezvous/result.hpp"

#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace ddprun {

constexpr int substitution_depth_max = 16;

/// In arguments and templates for workers these are no variables: torchrun's macros.
constexpr std::array<std::string_view, 4> worker_macros{
    "local_rank", "rank", "role_name", "hostname"};

struct Substituted {
  std::string text;
  std::string unset;  ///< The first variable with neither value nor default; empty: there is none.
};

/// Replaces ${NAME} and ${NAME:-default} (also when NAME is empty, as in sh) by `values`, and $$ by
/// a dollar sign; a lone $ stays, and so does ${NAME} for the names in `macros`. A default may hold
/// further ${...}, and braces in pairs; what it lacks counts only if it is used. Every other form
/// of ${...} is an error.
[[nodiscard]] Result<Substituted> substitute(std::string_view text,
                                             const std::map<std::string, std::string>& values,
                                             std::span<const std::string_view> macros = {});

/// Replaces ${NAME} for the names in `values` alone and leaves everything else as it is: torchrun's
/// macros such as ${local_rank} in arguments.
[[nodiscard]] std::string expand_macros(std::string_view text,
                                        const std::map<std::string, std::string>& values);

}  // namespace ddprun
