#include "launcher/slurm/unread_input.hpp"

#include "rendezvous/fd.hpp"

#include <boost/asio/post.hpp>

#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace ddprun {

UnreadInput::UnreadInput(boost::asio::io_context& context, int fd, std::function<void()> on_input)
    : watched_(context), on_input_(std::move(on_input)) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return;
  if (S_ISREG(status.st_mode) && ::lseek(fd, 0, SEEK_CUR) < status.st_size) {
    boost::asio::post(context, on_input_);
  }
  if (S_ISFIFO(status.st_mode) || S_ISSOCK(status.st_mode)) watch(fd);
}

/// Asio would make `fd` itself non-blocking, also for those who share it.
void UnreadInput::watch(int fd) {
  Fd epoll(::epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  if (!epoll.is_open() || ::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0) return;
  watched_.assign(epoll.release());
  watched_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                      [this, fd](boost::system::error_code error) {
                        int bytes = 0;
                        if (!error && ::ioctl(fd, FIONREAD, &bytes) == 0 && bytes > 0) on_input_();
                      });
}

}  // namespace ddprun
