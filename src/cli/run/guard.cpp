// The guard: opens the store, waits for the lease, and hands it to Hold.
#include <poll.h>
#include <sys/socket.h>

#include <exception>
#include <optional>

#include "cli/failure.hpp"
#include "cli/output.hpp"
#include "cli/run/hold.hpp"
#include "cli/run/waiting.hpp"

namespace holdfast::cli {
namespace {

void tell_warning(const Event& event) {
  if (event.kind == Event::Kind::warning) complain(event.text);
}

class Guard {
 public:
  Guard(Job& job, int line);
  int run();

 private:
  Result<Lease> acquire();
  void read_line();

  const Job& job_;
  const int line_;
  const Store store_;
  bool paused_ = false;
  int signal_ = 0;  // the signal that ends the wait
};

// Asks the lock for its ttl, because in a store with sessions every lease has the session's.
Guard::Guard(Job& job, int line)
    : job_(job), line_(line), store_(open(job.location.url, {.on_event = tell_warning}).value()) {
  job.timing = Timing(store_.lock(job.options.name, {.ttl = job.options.ttl}).ttl());
  job.pulse.beat.store(job.timing.beat);
}

int Guard::run() {
  auto lease = acquire();
  if (lease && signal_ == 0) return Hold(job_, line_, store_, std::move(*lease), paused_).run();
  std::optional<Failure> failure;
  if (signal_ == 0) failure = failure_of(lease.error());
  if (failure && failure->code == exit_code::busy) tell(job_, "busy");
  // This process ends by _exit(), so nothing waits later until our place in line is given up. A
  // lease that was granted despite the signal ends here too.
  (void)store_.close(clear_up_within);
  if (failure) throw *failure;
  return exit_code::by_signal + signal_;
}

Result<Lease> Guard::acquire() {
  Waiting waiting(job_, store_);
  auto lease = waiting.try_once();
  read_line();
  if (lease || signal_ != 0 || !waiting.may_help(lease.error())) return lease;
  waiting.begin();
  for (;;) {
    pollfd news[] = {{line_, POLLIN, 0}, {waiting.descriptor(), POLLIN, 0}};
    ::poll(news, std::size(news), -1);
    if (news[0].revents != 0) read_line();
    if (signal_ != 0) waiting.stop();
    if (signal_ != 0 || news[1].revents != 0) return waiting.result();
  }
}

void Guard::read_line() {
  Message message{};
  const auto length = ::recv(line_, &message, sizeof message, MSG_DONTWAIT);
  if (length == 0) signal_ = SIGKILL;  // most likely the signal that killed the supervisor
  if (length != sizeof message) return;
  if (message.number == SIGTSTP || message.number == SIGCONT) paused_ = message.number == SIGTSTP;
  if (ends_a_process(message.number)) signal_ = message.number;
}

}  // namespace

int guard(Job& job, int line) {
  try {
    return Guard(job, line).run();
  } catch (const Failure& failure) {
    complain(failure, job.options.json);
    return failure.code;
  } catch (const Error& error) {
    const auto failure = failure_of(error);
    complain(failure, job.options.json);
    return failure.code;
  } catch (const std::exception& error) {
    complain({exit_code::internal, "internal", error.what()}, job.options.json);
    return exit_code::internal;
  }
}

}  // namespace holdfast::cli
