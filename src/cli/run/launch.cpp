#include "cli/run/launch.hpp"

#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "cli/run/system.hpp"

namespace holdfast::cli {
namespace {

struct Start {
  const Launch& launch;
  pid_t parent;
  bool own_group;
  int error = 0;
};

alignas(64) char program_stack[64 * 1024];
alignas(64) char init_stack[64 * 1024];

pid_t clone_with(int (*function)(void*), void* argument, char (&stack)[64 * 1024],
                 int flags) noexcept {
  return ::clone(function, stack + sizeof stack, flags | SIGCHLD, argument);
}

int run_program(void* argument) {
  auto& start = *static_cast<Start*>(argument);
  const Launch& launch = start.launch;
  if (start.own_group) {
    ::setpgid(0, 0);
    launch.group->store(::getpid());
  }
  // A background process may do this, because SIGTTOU is blocked.
  if (launch.take_terminal) ::tcsetpgrp(STDIN_FILENO, ::getpgrp());
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // If the parent died before prctl, no signal will come.
  if (::getppid() != start.parent) ::_exit(1);
  if (launch.ignore_children) ::signal(SIGCHLD, SIG_IGN);
  ::sigprocmask(SIG_SETMASK, launch.signals, nullptr);
  // A store's client library may have left some open. Only marks them, because exec may still fail.
  close_all_but(launch.inherited, CLOSE_RANGE_CLOEXEC);
  ::execve(launch.program, launch.arguments, launch.environment);
  start.error = errno;
  ::_exit(127);
}

// Sharing memory until exec costs a tenth of a fork, and lets the child say why exec failed.
pid_t start_program(Start& start) noexcept {
  const pid_t process = clone_with(run_program, &start, program_stack, CLONE_VM | CLONE_VFORK);
  if (process == -1) return 0;
  if (start.error == 0) return process;
  ::waitpid(process, nullptr, 0);
  errno = start.error;
  return 0;
}

struct Init {
  const Launch& launch;
  int reports;
  std::span<const int> kept;
};

void report(int descriptor, int how, int number) noexcept {
  const Report line{how, number};
  if (::write(descriptor, &line, sizeof line) != sizeof line) ::_exit(1);
}

int run_init(void* argument) {
  const auto& init = *static_cast<Init*>(argument);
  ::setpgid(0, 0);
  ::prctl(PR_SET_NAME, "hf-init");
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  close_all_but(init.kept, 0);
  pollfd reader{init.reports, POLLOUT, 0};
  if (::poll(&reader, 1, 0) != 1 || (reader.revents & POLLERR) != 0) ::_exit(1);

  Start start{init.launch, ::getpid(), false};
  const pid_t command = start_program(start);
  report(init.reports, command ? Report::started : Report::failed, command ? 0 : errno);
  if (!command) ::_exit(0);
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WSTOPPED) != 0) ::_exit(1);
    if (info.si_pid != command) continue;
    report(init.reports, info.si_code, info.si_status);
    if (info.si_code != CLD_STOPPED) ::_exit(0);
  }
}

int do_nothing(void*) { return 0; }

}  // namespace

pid_t launch_group(const Launch& launch) noexcept {
  Start start{launch, ::getpid(), true};
  const pid_t process = start_program(start);
  if (!process) launch.group->store(0);
  return process;
}

pid_t launch_namespace(const Launch& launch, int reports, std::span<const int> kept) noexcept {
  Init init{launch, reports, kept};
  const pid_t process = clone_with(run_init, &init, init_stack, CLONE_NEWPID);
  if (process == -1) return 0;
  ::setpgid(process, process);
  launch.group->store(process);
  return process;
}

bool namespaces_allowed() noexcept {
  const pid_t process = clone_with(do_nothing, nullptr, init_stack, CLONE_NEWPID);
  if (process == -1) return false;
  ::waitpid(process, nullptr, 0);
  return true;
}

}  // namespace holdfast::cli
