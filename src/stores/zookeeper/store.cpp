#include "stores/zookeeper/store.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::stores::zookeeper {
namespace {

Traits traits_of(const Options& options) {
  Traits traits;
  traits.scheme = "zookeeper";
  traits.validity = Validity::session;
  traits.ordered = true;  // the server does a session's requests in the order they started
  traits.durable = true;
  traits.cells = traits.expiring_cells = true;
  traits.ttl_min = Millis(1);  // the session's ttl is granted, whatever is asked for
  traits.granularity = options.tick;
  traits.session = options.session;
  if (options.dialect == Dialect::own) return traits;
  traits.rw = options.dialect == Dialect::curator;
  traits.semaphore = traits.cells = traits.expiring_cells = false;
  traits.bare_tokens = true;
  traits.handovers = 0;
  return traits;
}

}  // namespace

ZooKeeperStore::ZooKeeperStore(Options options, Hints& hints)
    : options_(std::move(options)),
      traits_(traits_of(options_)),
      paths_(options_.chroot),
      layout_(Layout::of(options_, paths_)),
      courier_(hints,
               [this](BootTime now) { return std::min(keeper_.tick(now), claims_.tick(now)); }),
      keeper_(options_, courier_, claims_),
      claims_(options_, *layout_, courier_, keeper_),
      registry_(options_, paths_, *layout_, keeper_),
      cell_folder_(options_, paths_, keeper_) {}

void ZooKeeperStore::ask(const Ask& ask, Pending<Answer>& call) noexcept {
  courier_.start(call, [&](auto ticket) { claims_.ask(ask, ticket); });
}
void ZooKeeperStore::renew(std::span<const Keep> keeps, Pending<std::span<Answer>>& call) noexcept {
  courier_.start(call, keeps.size(), [&](auto ticket) { claims_.renew(keeps, ticket); });
}
void ZooKeeperStore::release(std::span<const Drop> drops,
                             Pending<std::span<Answer>>& call) noexcept {
  courier_.start(call, drops.size(), [&](auto ticket) { claims_.release(drops, ticket); });
}
void ZooKeeperStore::describe(std::string_view name, Pending<Listing>& call) noexcept {
  courier_.start(call,
                 [&](auto ticket) { registry_.tell_holders(std::string(name), true, ticket); });
}
void ZooKeeperStore::list(std::string_view prefix, Pending<Listing>& call) noexcept {
  courier_.start(call,
                 [&](auto ticket) { registry_.tell_holders(std::string(prefix), false, ticket); });
}
void ZooKeeperStore::revoke(std::string_view name, bool now, Pending<Answer>& call) noexcept {
  courier_.start(call, [&](auto ticket) { registry_.revoke(std::string(name), now, ticket); });
}
void ZooKeeperStore::add(const Add& add, Pending<Cell>& call) noexcept {
  courier_.start(call, [&](auto ticket) { cell_folder_.add(add, ticket); });
}
void ZooKeeperStore::swap(const Swap& swap, Pending<Cell>& call) noexcept {
  courier_.start(call, [&](auto ticket) { cell_folder_.swap(swap, ticket); });
}
void ZooKeeperStore::get(std::string_view name, Pending<Cell>& call) noexcept {
  courier_.start(call, [&](auto ticket) { cell_folder_.get(name, ticket); });
}
void ZooKeeperStore::guarantees(Pending<Promise>& call) noexcept {
  courier_.start(call, [&](auto ticket) { state_guarantees(ticket); });
}
void ZooKeeperStore::init(Init, Pending<Answer>& call) noexcept {
  courier_.start(call, [&](auto ticket) { make_folders(ticket); });
}
void ZooKeeperStore::inspect(Pending<Inspection>& call) noexcept {
  courier_.start(call, [&](auto ticket) { state_facts(ticket); });
}

}  // namespace holdfast::stores::zookeeper
