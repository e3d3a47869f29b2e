// A terminal that this process writes to.
#pragma once

namespace ddprun {

/// Whether a row of it may be erased and drawn again: nobody else has it, as the shell or an editor
/// does while this process runs in the background. False for what is no terminal.
[[nodiscard]] bool may_redraw(int fd);

[[nodiscard]] bool is_pipe(int fd);

/// Which terminal it is, by whatever name it was opened; 0 for what is none.
[[nodiscard]] unsigned terminal_number(int fd);

/// As many as most have, where it does not say.
[[nodiscard]] int columns_of(int fd);

}  // namespace ddprun
