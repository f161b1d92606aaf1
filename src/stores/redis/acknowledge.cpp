// wait_replicas: one WAIT follows each batch of commands, and their answers count only if it
// reports enough replicas. Otherwise the answers become `unknown`: the commands were executed, but
// a failover may undo them.
#include <algorithm>
#include <new>

#include "stores/redis/link.hpp"
#include "stores/redis/request.hpp"

namespace holdfast::stores::redis {
namespace {

constexpr Millis wait_at_most{500};  // later commands have to wait for it too

// `majority` and `all` count the replicas that the master had at its greeting; the result is at
// least 1. A majority is one of all servers, including the master.
int replicas_needed(const Options& options, const Server& server) {
  switch (options.wait_replicas) {
    case Options::majority: return std::max(1, (server.replicas + 1) / 2);
    case Options::all: return std::max(1, server.replicas);
    default: return options.wait_replicas;
  }
}

}  // namespace

class Link::Acknowledgement final : public Task {
 public:
  Acknowledgement(Link& of, Millis at_most)
      : of_(of), needed_(replicas_needed(of.options_, of.server_)), at_most_(at_most) {}
  void write(std::string& out, const Link&) override {
    Request(out, 3) << "WAIT" << std::int64_t{needed_} << std::int64_t{at_most_.count()};
  }
  void read(const Reply& reply) override { of_.acknowledged(reply.integer, needed_); }
  void refuse(Said, const Problem& problem) noexcept override { of_.unacknowledged(problem); }
  void deliver(TaskPtr) noexcept override {}

 private:
  Link& of_;
  const int needed_;
  const Millis at_most_;
};

void Link::await_replicas(TaskPtr task) noexcept try {
  unproven_.emplace_back();
  unproven_.back() = std::move(task);
} catch (const std::bad_alloc&) {
  task->refuse(Said::unknown, {Errc::unavailable, "no_memory", {}});
  listener_.finished(std::move(task));
}

// The WAIT has no deadline, so its reply is never skipped; the tasks that depend on it have theirs.
void Link::ask_replicas(BootTime now) {
  const auto half = std::chrono::duration_cast<Millis>((deadline_ - now) / 2);
  send_off(std::make_unique<Acknowledgement>(*this, std::clamp(half, Millis(1), wait_at_most)),
           now);
  unproven_out_ = false;
}

// Replies come in order, so all tasks before the WAIT have their answers by now.
void Link::acknowledged(std::int64_t count, int needed) {
  if (count < needed)
    return unacknowledged(
        {Errc::unavailable, "not_replicated",
         "only " + std::to_string(count) + " of " + std::to_string(needed) + " replicas have it"});
  for (TaskPtr& task : unproven_)
    if (task) listener_.finished(std::move(task));
  unproven_.clear();
}

void Link::unacknowledged(const Problem& problem) noexcept {
  for (TaskPtr& task : unproven_) {
    if (!task) continue;
    task->refuse(Said::unknown, problem);
    listener_.finished(std::move(task));
  }
  unproven_.clear();
}

}  // namespace holdfast::stores::redis
