#include "cli/run/hold.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <stop_token>
#include <thread>

#include "cli/failure.hpp"
#include "cli/run/environment.hpp"

namespace holdfast::cli {
namespace {

bool is_readable(int descriptor) noexcept {
  pollfd one{descriptor, POLLIN, 0};
  return ::poll(&one, 1, 0) == 1;
}

}  // namespace

Hold::Hold(const Job& job, int line, const Store& store, Lease lease, bool paused)
    : job_(job),
      store_(store),
      lease_(std::move(lease)),
      line_(line),
      paused_(paused),
      children_(signals_of(only(SIGCHLD))),
      until_(boot_now() + std::chrono::nanoseconds(lease_.left()).count()) {
  // Set before anybody learns of the lease, because this process may be paused at any moment now.
  if (job_.options.stop_when_lost) job_.pulse.until.store(until_);
}

int Hold::run() {
  const Token token = lease_.token();
  tell_acquired(job_, token);
  const std::stop_callback watch(lease_.lost(), [this] { lost_.raise(); });
  if (may_start()) {
    Chain chain = job_.chain;
    chain.add(identity_of(job_.location.url), {job_.options.name, token, side_of(job_.options)});
    Environment environment(job_, token, chain);
    command_.start(job_, environment.get());
    while (look(), !over()) wait_for_news();
  }
  return finish();
}

// If the user stopped the job while it waited, the command starts only when the job is continued.
bool Hold::may_start() {
  while (paused_ && signal_ == 0 && !kill_at_) {
    wait_for_news();
    look();
  }
  return signal_ == 0 && !kill_at_;
}

void Hold::look() {
  command_.collect();
  if (const int signal = command_.stopped_by()) send(line_, {Message::Kind::stopped, signal});
  const auto now = boot_now();
  const auto left = std::chrono::nanoseconds(lease_.left()).count();
  if (left > 0) until_ = now + left;
  if (job_.options.stop_when_lost) job_.pulse.until.store(until_);

  const auto silent = now - job_.pulse.supervisor_at.load();
  if (!lease_lost_ && is_readable(lost_.descriptor()))
    lose("the store says that it has ended or was revoked", now);
  else if (!lease_lost_ && now >= until_)
    lose("it could not be renewed, or this process was paused", now);
  else if (job_.options.stop_when_lost && !kill_at_ && now >= until_ - job_.timing.grace)
    lose("it could not be renewed in time", now);
  else if (job_.options.stop_when_lost && !kill_at_ && line_ != -1 && silent >= job_.timing.silence)
    lose("holdfast was stopped for longer than the ttl allows", now);
  if (kill_at_ && (now >= *kill_at_ || is_readable(taken_->descriptor()))) kill();
}

// Stops the command first, because writing messages may take a moment.
void Hold::lose(const std::string& why, std::int64_t now) {
  lease_lost_ = true;
  if (job_.options.stop_when_lost && !kill_at_) {
    end_as_lost_ = true;
    stop(std::min(now + job_.timing.grace, until_));
    if (is_readable(lost_.descriptor()) && now < until_) ask_whether_taken();
  }
  tell_loss(job_, why);
}

void Hold::stop(std::int64_t kill_at) {
  kill_at_ = kill_at;
  if (boot_now() >= kill_at) return kill();  // too late even to clean up
  command_.terminate();
  if (job_.options.kill_tree != KillTree::tree) return;
  for (const pid_t child : children_of_this_process())
    if (::getpgid(child) != job_.pulse.group.load()) ::kill(child, SIGTERM);
}

// A revoked lease is ours until we release it, so SIGTERM has time to work. If it was taken by
// force or is gone from the store, another holder may be in already.
void Hold::ask_whether_taken() {
  std::thread([store = store_, name = job_.options.name, token = lease_.token(), taken = taken_] {
    const auto found = store.holders(name);
    const auto is_ours = [&](const Holder& holder) {
      return !holder.waits && holder.token == token;
    };
    if (!found || std::ranges::none_of(*found, is_ours)) taken->raise();
  }).detach();
}

void Hold::kill() const {
  command_.kill();
  if (job_.options.kill_tree == KillTree::tree) kill_tree();
}

bool Hold::over() const {
  if (!kill_at_) return command_.status().has_value();
  return job_.options.kill_tree == KillTree::tree ? children_of_this_process().empty()
                                                  : command_.gone();
}

std::int64_t Hold::next_look() const noexcept {
  const auto now = boot_now();
  if (kill_at_) return *kill_at_;
  auto next = now + job_.timing.beat;
  if (job_.options.stop_when_lost)
    next = std::min(
        {next, until_ - job_.timing.grace, job_.pulse.supervisor_at.load() + job_.timing.silence});
  else if (!lease_lost_)
    next = std::min(next, until_);
  return next;
}

void Hold::wait_for_news() {
  timer_.arm(next_look());
  pollfd news[] = {{line_, POLLIN, 0},
                   {children_.get(), POLLIN, 0},
                   {timer_.descriptor(), POLLIN, 0},
                   {lease_lost_ ? -1 : lost_.descriptor(), POLLIN, 0},
                   {kill_at_ ? taken_->descriptor() : -1, POLLIN, 0},
                   {command_.reports(), POLLIN, 0}};
  ::poll(news, std::size(news), -1);
  while (next_signal(children_.get()) != 0) {
  }
  if (news[0].revents != 0) read_line();
}

void Hold::read_line() {
  Message message{};
  const auto length = ::recv(line_, &message, sizeof message, MSG_DONTWAIT);
  if (length == 0) {
    line_ = -1;
    const auto kill_at = boot_now() + job_.timing.grace;
    if (!kill_at_) stop(lease_lost_ ? kill_at : std::min(kill_at, until_));
  }
  if (length != sizeof message) return;
  if (message.number == SIGTSTP || message.number == SIGCONT) paused_ = message.number == SIGTSTP;
  if (!job_.pulse.group.load() && ends_a_process(message.number)) signal_ = message.number;
  command_.signal(message.number);
}

int Hold::finish() {
  if (job_.options.kill_tree == KillTree::tree) kill_tree();
  if (job_.options.kill_tree == KillTree::namespace_) command_.kill();
  job_.pulse.until.store(0);
  const auto released = lease_.release();
  (void)store_.close(clear_up_within);  // a lost lease is released too, but nothing waits for that
  if (end_as_lost_) return exit_code::lost;
  const bool was_lost = !released && released.error().errc() == Errc::lost;
  if (was_lost && !lease_lost_) tell_loss(job_, "it had ended before the command did");
  if (!was_lost) tell(job_, "released");
  if (was_lost && job_.options.stop_when_lost) return exit_code::lost;
  if (signal_ != 0) return exit_code::by_signal + signal_;
  return command_.status().value_or(exit_code::lost);
}

}  // namespace holdfast::cli
