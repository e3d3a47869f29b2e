// A text as a word that sh reads back as this text.
#pragma once

#include <string>
#include <string_view>

namespace ddprun {

/// `text` itself if sh takes it for one plain word, else in single quotes.
[[nodiscard]] std::string shell_word(std::string_view text);

/// Whether sh can assign a variable of this name, and bash as well, which keeps some for itself:
/// read-only, or with values of its own.
[[nodiscard]] bool is_shell_name(std::string_view name);

}  // namespace ddprun
