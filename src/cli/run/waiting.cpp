#include "cli/run/waiting.hpp"

#include <algorithm>
#include <string>

#include "cli/failure.hpp"
#include "cli/run/job.hpp"
#include "cli/run/progress.hpp"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

// The only place that maps options to a lock.
Lock lock_for(const Store& store, const Job& job) {
  const Options& options = job.options;
  LockOptions wanted;
  wanted.ttl = options.ttl;
  wanted.wait = options.wait;
  wanted.margin = job.timing.margin;
  // Such a store ends a killed guard's claim shortly before the kernel has killed the command.
  if (store.ends_with_process()) wanted.lock_delay = 200ms;
  // Only the program's name, because arguments may be secret and everybody can see labels.
  const std::string program = job.command[0];
  wanted.label = std::string_view(program).substr(program.rfind('/') + 1).substr(0, 64);
  switch (options.side) {
    case Side::exclusive: break;
    case Side::shared: return store.rw_lock(options.name, wanted).read();
    case Side::permits:
      return store.semaphore(options.name, options.capacity, wanted).permits(options.permits);
  }
  return store.lock(options.name, wanted);
}

}  // namespace

Waiting::Waiting(const Job& job, const Store& store)
    : job_(job), store_(store), lock_(lock_for(store, job)) {}

Result<Lease> Waiting::try_once() const { return lock_.try_acquire(); }

// Other errors do not go away: a store that cannot be created will not appear by waiting.
bool Waiting::may_help(const Error& error) const {
  const int code = failure_of(error).code;
  return job_.options.wait > Millis(0) &&
         (code == exit_code::busy || code == exit_code::unavailable);
}

void Waiting::begin() {
  tell(job_, "waiting");
  thread_ = std::thread([this] {
    result_ = wait();
    over_.raise();
  });
}

Result<Lease> Waiting::wait() const {
  const Progress progress(store_, job_.options.name);
  if (job_.options.wait == forever) return lock_.acquire(stop_.get_token());
  const Millis passed((boot_now() - began_) / 1'000'000);
  return lock_.try_acquire_for(std::max(job_.options.wait - passed, Millis(0)), stop_.get_token());
}

Result<Lease> Waiting::result() {
  thread_.join();
  return std::move(*result_);
}

}  // namespace holdfast::cli
