// A filesystem that makes no links, as far as the calling thread and all that it starts can see:
// the kernel answers link(2) with EPERM, as it does on FAT and on many FUSE filesystems.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <array>
#include <cerrno>

namespace e2e {

/// For good. Whether it could be done; needs no right.
inline bool do_without_link() {
  constexpr unsigned refused = SECCOMP_RET_ERRNO | EPERM;
#ifdef SYS_link
  constexpr unsigned other = SYS_link;
#else
  constexpr unsigned other = SYS_linkat;
#endif
  std::array<sock_filter, 5> steps{{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
                                    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_linkat, 1, 0),
                                    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 0, 1),
                                    BPF_STMT(BPF_RET | BPF_K, refused),
                                    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
  const sock_fprog program{static_cast<unsigned short>(steps.size()), steps.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

}  // namespace e2e
