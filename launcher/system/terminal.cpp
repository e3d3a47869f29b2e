#include "launcher/system/terminal.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace ddprun {

bool may_redraw(int fd) {
  if (::isatty(fd) != 1) return false;
  const pid_t foreground = ::tcgetpgrp(fd);
  return foreground < 0 || foreground == ::getpgrp();  // fails if it is not this session's terminal
}

bool is_pipe(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode);
}

unsigned terminal_number(int fd) {
  unsigned number = 0;
  return ::ioctl(fd, TIOCGDEV, &number) == 0 ? number : 0;
}

int columns_of(int fd) {
  constexpr int usual = 80;
  winsize size{};
  const bool is_known = ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return is_known ? size.ws_col : usual;
}

int columns_beside(std::size_t prefix_width) {
  constexpr int least = 20;
  return std::max(columns_of(STDOUT_FILENO) - static_cast<int>(prefix_width), least);
}

void set_columns(int fd, int columns) {
  winsize size{};
  if (::ioctl(fd, TIOCGWINSZ, &size) != 0) return;
  size.ws_col = static_cast<unsigned short>(columns);
  (void)::ioctl(fd, TIOCSWINSZ, &size);
}

TerminalModes::TerminalModes(int fd) : fd_(fd) {
  termios modes{};
  if (::tcgetattr(fd, &modes) == 0) modes_ = modes;
}

void TerminalModes::restore() const {
  if (modes_ && may_redraw(fd_)) (void)::tcsetattr(fd_, TCSANOW, &*modes_);
}

}  // namespace ddprun
