#include "stores/redis/store.hpp"

#include <new>

#include "stores/redis/keys.hpp"

namespace holdfast::stores::redis {
namespace {

Traits traits_of(const Options& options) {
  Traits traits{.scheme = "redis", .cells = true, .expiring_cells = true};
  traits.ordered = options.wait_replicas == 0;  // otherwise asks have their own connection
  if (options.setting.string_dialect) {
    traits.rw = traits.semaphore = traits.tokens = false;
    traits.queues = traits.notifies = false;
    traits.handovers = 0;
  }
  if (options.setting.guard) traits.ttl_max = options.setting.guard_ttl;
  return traits;
}

std::unique_ptr<Router> router_of(const Routing& routing) {
  switch (routing.options.topology) {
    case Topology::single: return make_single(routing);
    case Topology::sentinel: return make_sentinel(routing);
    case Topology::cluster: return make_cluster(routing);
  }
  return nullptr;
}

}  // namespace

RedisStore::RedisStore(Options options, Hints& hints)
    : options_(std::move(options)),
      traits_(traits_of(options_)),
      router_(router_of({options_, exchange_, *this})),
      subscription_({options_, exchange_, *this}, *router_, hints) {
  exchange_.attend(*router_);
}

RedisStore::~RedisStore() = default;

template <class Send>
void RedisStore::sent(TaskPtr task, Send&& send) noexcept {
  const std::lock_guard lock(exchange_.mutex());
  try {
    send(std::move(task), BootClock::now());
  } catch (const std::bad_alloc&) {
    if (!task) return;  // somebody took it over, and will answer it
    task->refuse(Said::no, {Errc::unavailable, "no_memory", {}});
    finished(std::move(task));
  }
}

void RedisStore::send(TaskPtr task) noexcept {
  sent(std::move(task), [&](TaskPtr&& it, BootTime now) { router_->send(std::move(it), now); });
}

void RedisStore::send_ask(TaskPtr task, const Ask& ask) noexcept {
  sent(std::move(task), [&](TaskPtr&& it, BootTime now) {
    if (ask.queue) subscription_.probe(ask.ttl, now);
    if (subscription_.silenced()) return subscription_.let_in(std::move(it), now);
    router_->send(std::move(it), now);
  });
}

void RedisStore::stand_in_line(TaskPtr ask) noexcept {
  const std::lock_guard lock(exchange_.mutex());
  try {
    subscription_.pass(std::move(ask), BootClock::now());
  } catch (const std::bad_alloc&) {
    if (ask) finished(std::move(ask));
  }
}

std::uint16_t RedisStore::slot_of(std::string_view name) const {
  return setting().cluster ? redis::slot_of(key_of(name, setting())) : 0;
}

void RedisStore::send_to_each(const std::function<TaskPtr()>& make) {
  const std::lock_guard lock(exchange_.mutex());
  router_->each(make, BootClock::now());
}

// ── events of the links, with the exchange's mutex held ──────────────────────────────────────────

bool RedisStore::redirected(TaskPtr& task, Link& from, const Reply& error) {
  return router_->redirected(task, from, error, BootClock::now());
}
void RedisStore::pushed(Link& link, const Reply& reply) {
  if (subscription_.has(link)) {
    subscription_.pushed(reply);
  } else {
    router_->pushed(link, reply, BootClock::now());
  }
}
void RedisStore::opened(Link& link) noexcept {
  if (link.use() != Link::Use::spare) router_->opened(link, BootClock::now());
}
void RedisStore::broke(Link& link) noexcept try {
  if (link.use() == Link::Use::spare) return;
  if (subscription_.has(link)) {
    subscription_.broke(BootClock::now());
  } else {
    fit_ = false;
    router_->broke(link, BootClock::now());
  }
} catch (const std::bad_alloc&) {
  // The next task dials again.
}

}  // namespace holdfast::stores::redis
