// The supervisor passes signals on, manages the terminal, shows the guard that it is alive, and
// steps in when the guard is dead or paused.
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <vector>

#include "cli/failure.hpp"
#include "cli/run/command.hpp"
#include "cli/run/job.hpp"
#include "cli/run/terminal.hpp"

namespace holdfast::cli {
namespace {

constexpr std::int64_t leave_within = 90'000'000;  // nanoseconds; we promise 100 ms
constexpr std::int64_t first_beat = 100'000'000;   // until the guard knows the ttl

class Supervisor {
 public:
  Supervisor(const Job& job, pid_t guard, Descriptor line, std::vector<pid_t> spared)
      : job_(job),
        guard_(guard),
        line_(std::move(line)),
        spared_(std::move(spared)),
        signals_(signals_of(all_signals())) {}
  int run();

 private:
  static sigset_t all_signals();
  pid_t group() const noexcept { return job_.pulse.group.load(); }
  void beat() noexcept;
  void pass_signals_on();
  void read_line();
  void stop_with_command(int signal);
  void forget_stops() noexcept;
  void leave_in_time() noexcept;
  bool too_late() const noexcept;
  void stop_paused_guard();
  void collect_children() noexcept;
  int conclude();

  const Job& job_;
  const pid_t guard_;
  Descriptor line_;
  const std::vector<pid_t> spared_;  // our children from before this run
  Descriptor signals_;
  BootTimer timer_;
  std::optional<int> guard_status_;  // as waitpid reports it
  std::optional<int> code_;          // to exit with, whatever the guard says
  int ending_signal_ = 0;            // came before the command started …
  std::int64_t leave_at_ = 0;        // … so a slow store must not keep the user waiting
  bool interrupt_passed_ = false;
  bool stop_passed_ = false;  // the keyboard's stop reached us and not the command
};

// Signals that the user ignored stay ignored, as nohup needs it.
sigset_t Supervisor::all_signals() {
  sigset_t set;
  ::sigfillset(&set);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
      ::sigdelset(&set, signal);
  }
  return set;
}

int Supervisor::run() {
  while (!guard_status_ && !code_) {
    beat();
    pollfd news[] = {
        {line_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}, {timer_.descriptor(), POLLIN, 0}};
    ::poll(news, std::size(news), -1);
    if (too_late()) stop_paused_guard();
    if (news[1].revents != 0) pass_signals_on();
    if (news[0].revents != 0) read_line();
    leave_in_time();
  }
  return conclude();
}

void Supervisor::beat() noexcept {
  const auto now = boot_now();
  job_.pulse.supervisor_at.store(now);
  const auto beat = job_.pulse.beat.load();
  auto next = now + (beat != 0 ? beat : first_beat);
  if (const auto until = job_.pulse.until.load()) next = std::min(next, until);
  if (leave_at_ > now) next = std::min(next, leave_at_);
  timer_.arm(next);
}

// The guard may still wait for the store; it notices that we are gone.
void Supervisor::leave_in_time() noexcept {
  if (leave_at_ != 0 && boot_now() >= leave_at_ && group() == 0)
    code_ = exit_code::by_signal + ending_signal_;
}

bool Supervisor::too_late() const noexcept {
  const auto until = job_.pulse.until.load();
  return until != 0 && boot_now() >= until;
}

// The guard kills at this moment too, unless it is paused.
void Supervisor::stop_paused_guard() {
  if (group() != 0) ::kill(-group(), SIGKILL);
  tell_loss(job_, "it could not be renewed, for holdfast was paused");
  pollfd end{line_.get(), POLLIN, 0};
  ::poll(&end, 1, static_cast<int>(job_.timing.margin.count()) / 2);
  if (too_late()) ::kill(guard_, SIGKILL);
}

void Supervisor::pass_signals_on() {
  while (const int signal = next_signal(signals_.get())) {
    if (signal == SIGCHLD) {
      collect_children();
      continue;
    }
    if (signal == SIGINT || signal == SIGQUIT) interrupt_passed_ = true;
    if (signal == SIGCONT) give_terminal(group());
    if (signal == SIGCONT || signal == SIGTSTP) stop_passed_ = signal == SIGTSTP;
    send(line_.get(), {Message::Kind::signal, signal});
    if (group() == 0 && ends_a_process(signal)) {
      ending_signal_ = signal;
      leave_at_ = boot_now() + leave_within;
    }
    if (signal == SIGTSTP && group() == 0) stop_with_command(signal);
  }
}

void Supervisor::collect_children() noexcept {
  int status = 0;
  for (pid_t child; (child = ::waitpid(-1, &status, WNOHANG)) > 0;)
    if (child == guard_) guard_status_ = status;
}

void Supervisor::read_line() {
  Message message{};
  const auto length = ::recv(line_.get(), &message, sizeof message, MSG_DONTWAIT);
  if (length == 0 && !guard_status_) {
    int status = 0;
    if (::waitpid(guard_, &status, 0) == guard_) guard_status_ = status;
  }
  if (length != sizeof message) return;
  if (message.kind == Message::Kind::stopped) stop_with_command(message.number);
}

// The shell must see its job stop and get the terminal back. A command that stopped only because it
// needs the terminal gets it.
void Supervisor::stop_with_command(int signal) {
  const bool wants_terminal = signal == SIGTTIN || signal == SIGTTOU;
  if (wants_terminal && !stop_passed_ && terminal_is_ours()) {
    give_terminal(group());
    ::kill(-group(), SIGCONT);  // not through the guard: a key pressed in between would be lost
    return;
  }
  const bool had_terminal = take_terminal_back(group());
  if (signal == SIGSTOP && !had_terminal) return;  // its sender will also continue it
  const int like_it = signal == SIGSTOP ? SIGTSTP : signal;
  // The keyboard's signal reached only the command's group, and our own group may have more than
  // one process. Send it once: a second could arrive after the SIGCONT of a quick fg, and stop us
  // for good.
  had_terminal ? ::kill(0, like_it) : ::raise(like_it);
  const auto one = only(like_it);
  ::sigprocmask(SIG_UNBLOCK, &one, nullptr);  // stops here, unless nobody could continue us
  ::sigprocmask(SIG_BLOCK, &one, nullptr);
  stop_passed_ = false;
  beat();
  forget_stops();
  give_terminal(group());
  if (!wants_terminal) send(line_.get(), {Message::Kind::signal, SIGCONT});
}

// Reports of stops that were sent before we were continued are stale.
void Supervisor::forget_stops() noexcept {
  Message stale{};
  while (::recv(line_.get(), &stale, sizeof stale, MSG_DONTWAIT | MSG_PEEK) == sizeof stale &&
         stale.kind == Message::Kind::stopped)
    ::recv(line_.get(), &stale, sizeof stale, MSG_DONTWAIT);
}

int Supervisor::conclude() {
  if (guard_status_ && WIFSIGNALED(*guard_status_)) {
    const bool held = group() != 0 || job_.pulse.until.load() != 0;
    kill_group(group());
    if (job_.options.kill_tree == KillTree::tree) kill_tree(spared_);
    if (held) tell_loss(job_, "the guard was killed");
    code_ = held ? exit_code::lost : exit_code::internal;
  }
  const int code = code_ ? *code_ : WEXITSTATUS(*guard_status_);
  const bool interrupted =
      code == exit_code::by_signal + SIGINT || code == exit_code::by_signal + SIGQUIT;
  // The keyboard's signal reached only the command; a script that called us must see it too.
  if (take_terminal_back(group()) && interrupted && !interrupt_passed_)
    ::kill(0, code - exit_code::by_signal);
  return code;
}

// Gives the guard another name in every process list, so that `killall -9 holdfast` misses it.
std::vector<char*> rename_process(std::span<char*> arguments, std::span<char*> command,
                                  std::vector<std::string>& kept) {
  kept.assign(command.begin(), command.end());
  char* const begin = arguments.front();
  char* const end = arguments.back() + std::strlen(arguments.back());
  constexpr char name[] = "hf-guard";
  ::prctl(PR_SET_NAME, name);
  static char shown_by_ls[] = "holdfast";  // it pointed into the arguments
  program_invocation_name = program_invocation_short_name = shown_by_ls;
  std::memset(begin, 0, static_cast<std::size_t>(end - begin));
  std::memcpy(begin, name, std::min(sizeof name - 1, static_cast<std::size_t>(end - begin)));
  std::vector<char*> pointers;
  for (auto& argument : kept) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

int supervise(Job& job, std::span<char*> all_arguments) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) refused("socket");
  Descriptor ours(ends[0]);
  Descriptor theirs(ends[1]);
  // If the guard is killed, its children become ours, so that we can kill them and wait for them.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  auto spared =
      job.options.kill_tree == KillTree::tree ? children_of_this_process() : std::vector<pid_t>{};
  job.pulse.supervisor_at.store(boot_now());
  const pid_t process = ::fork();
  if (process == -1) refused("fork");
  if (process == 0) {
    ours.close();
    ::setpgid(0, 0);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    std::vector<std::string> kept;
    auto command = rename_process(all_arguments, job.options.command, kept);
    job.command = {command.data(), command.size() - 1};
    ::_exit(guard(job, theirs.get()));
  }
  theirs.close();
  return Supervisor(job, process, std::move(ours), std::move(spared)).run();
}

}  // namespace holdfast::cli
