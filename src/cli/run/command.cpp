#include "cli/run/command.hpp"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string>

#include "cli/failure.hpp"
#include "cli/run/job.hpp"
#include "cli/text.hpp"

namespace holdfast::cli {
namespace {

Failure cannot_start(const std::string& program, int error) {
  const int code = error == ENOENT ? exit_code::not_found : exit_code::not_executable;
  return {code, "cannot_start",
          "command '" + escaped(program, 256) + "' cannot be started: " + std::strerror(error)};
}

// The shell runs a script without a #! line, as execvp does it.
std::vector<char*> as_script(const Job& job) {
  std::vector<char*> arguments{const_cast<char*>("/bin/sh"),
                               const_cast<char*>(job.program.c_str())};
  arguments.insert(arguments.end(), job.command.begin() + 1, job.command.end());
  arguments.push_back(nullptr);
  return arguments;
}

// True if the supervisor's group owns the terminal and neither stdin nor stdout is a pipe, because
// another process of a pipeline may read keys too.
bool may_take_terminal(const Job& job) {
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 &&
         ::tcgetpgrp(STDIN_FILENO) == job.supervisor_group;
}

}  // namespace

void Command::start(const Job& job, char* const* environment) {
  Launch plan{job.program.c_str(), job.command.data(), environment,
              &job.user_signals,   job.inherited,      &job.pulse.group};
  plan.ignore_children = job.children_ignored;
  plan.take_terminal = may_take_terminal(job);
  const bool in_namespace = job.options.kill_tree == KillTree::namespace_;
  int error = launch(plan, in_namespace);
  if (error == ENOEXEC) {
    const auto shell = as_script(job);
    plan.program = shell[0];
    plan.arguments = shell.data();
    error = launch(plan, in_namespace);
  }
  if (error != 0) throw cannot_start(job.program, error);
}

void exec_program(const Job& job, char* const* environment) {
  close_all_but(job.inherited, CLOSE_RANGE_CLOEXEC);
  ::execve(job.program.c_str(), job.command.data(), environment);
  if (errno == ENOEXEC) ::execve("/bin/sh", as_script(job).data(), environment);
  throw cannot_start(job.program, errno);
}

// Returns 0 or an errno.
int Command::launch(const Launch& plan, bool in_namespace) {
  if (!in_namespace) {
    group_ = launch_group(plan);
    return group_ ? 0 : errno;
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return errno;
  reports_ = Descriptor(ends[0]);
  Descriptor writing(ends[1]);
  std::vector<int> kept(plan.inherited.begin(), plan.inherited.end());
  kept.insert(std::ranges::lower_bound(kept, ends[1]), ends[1]);
  group_ = launch_namespace(plan, ends[1], kept);
  if (!group_) return errno;
  writing.close();
  Report first{};
  if (::read(ends[0], &first, sizeof first) != sizeof first) return ECHILD;
  ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return first.how == Report::started ? 0 : first.number;
}

void Command::signal(int number) const noexcept {
  if (!gone()) ::kill(-group_, number);
}

void Command::terminate() const noexcept {
  signal(SIGTERM);
  signal(SIGCONT);
}

void Command::note(int how, int number) noexcept {
  if (how == CLD_STOPPED)
    stopped_by_ = number;
  else if (!status_)
    status_ = how == CLD_EXITED ? number : exit_code::by_signal + number;
}

void Command::collect() noexcept {
  Report line{};
  while (reports_.get() != -1 && ::read(reports_.get(), &line, sizeof line) == sizeof line)
    note(line.how, line.number);
  siginfo_t info{};
  while (::waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG) == 0 && info.si_pid != 0) {
    const bool ended = info.si_code != CLD_STOPPED;
    if (info.si_pid == group_ && reports_.get() == -1)
      note(info.si_code, info.si_status);
    else if (info.si_pid == group_ && ended)
      note(CLD_KILLED, SIGKILL);  // an init that died without a report
    info.si_pid = 0;
  }
}

bool Command::gone() const noexcept {
  siginfo_t info{};
  return group_ == 0 ||
         ::waitid(P_PGID, static_cast<id_t>(group_), &info, WEXITED | WNOHANG | WNOWAIT) != 0;
}

// The kernel cannot reuse the group's number while a member is a child that we have not reaped.
void kill_group(pid_t group) noexcept {
  if (group == 0) return;
  siginfo_t info{};
  while (::waitid(P_PGID, static_cast<id_t>(group), &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
    ::kill(-group, SIGKILL);
    ::waitpid(-group, nullptr, 0);
  }
}

std::vector<pid_t> children_of_this_process() {
  const auto path = "/proc/self/task/" + std::to_string(::getpid()) + "/children";
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() == -1) refused("/proc/self/task/PID/children");
  std::string text;
  char part[4096];
  for (ssize_t length; (length = ::read(file.get(), part, sizeof part)) > 0;)
    text.append(part, static_cast<std::size_t>(length));
  std::vector<pid_t> found;
  for (const char* at = text.data(); at < text.data() + text.size();) {
    pid_t process = 0;
    const auto read = std::from_chars(at, text.data() + text.size(), process);
    if (read.ec == std::errc()) found.push_back(process);
    at = read.ptr + 1;
  }
  return found;
}

// Kills only our children, because the kernel cannot reuse their numbers before we have reaped
// them. What they leave behind becomes our child and dies in the next round.
void kill_tree(std::span<const pid_t> spared) {
  for (;;) {
    auto children = children_of_this_process();
    std::erase_if(children, [&](pid_t process) {
      return std::ranges::find(spared, process) != spared.end();
    });
    if (children.empty()) return;
    for (const pid_t process : children) ::kill(process, SIGKILL);
    for (const pid_t process : children) ::waitpid(process, nullptr, 0);
  }
}

void check_kill_tree(const Job& job) {
  if (job.options.kill_tree == KillTree::namespace_ && !namespaces_allowed())
    throw bad_configuration(std::string("--kill-tree=pidns: a pid namespace cannot be made (") +
                            std::strerror(errno) + "); run as root, or write --kill-tree");
  if (job.options.kill_tree != KillTree::tree) return;
  try {
    children_of_this_process();
  } catch (const Failure&) {
    throw bad_configuration(
        "--kill-tree: this kernel does not list a process's children in /proc; write "
        "--kill-tree=pidns");
  }
}

}  // namespace holdfast::cli
