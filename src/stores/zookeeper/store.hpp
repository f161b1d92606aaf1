// stores/zookeeper/store.hpp: the backend. own_claims.hpp, registry.hpp and cells.hpp do what
// requests want, in the session of keeper.hpp; the courier delivers answers and hints.
#pragma once

#include "stores/common/courier.hpp"
#include "stores/common/flow.hpp"
#include "stores/zookeeper/cells.hpp"
#include "stores/zookeeper/keeper.hpp"
#include "stores/zookeeper/own_claims.hpp"
#include "stores/zookeeper/registry.hpp"

namespace holdfast::stores::zookeeper {

class ZooKeeperStore final : public Backend, public Cells {
 public:
  ZooKeeperStore(Options options, Hints& hints);
  ~ZooKeeperStore() override { keeper_.close(); }

  const Traits& traits() const noexcept override { return traits_; }
  Cells* cells() noexcept override { return options_.dialect == Dialect::own ? this : nullptr; }

  void ask(const Ask& ask, Pending<Answer>& call) noexcept override;
  void renew(std::span<const Keep> keeps, Pending<std::span<Answer>>& call) noexcept override;
  void release(std::span<const Drop> drops, Pending<std::span<Answer>>& call) noexcept override;
  void describe(std::string_view name, Pending<Listing>& call) noexcept override;
  void list(std::string_view prefix, Pending<Listing>& call) noexcept override;
  void revoke(std::string_view name, bool now, Pending<Answer>& call) noexcept override;
  void add(const Add& add, Pending<Cell>& call) noexcept override;
  void swap(const Swap& swap, Pending<Cell>& call) noexcept override;
  void get(std::string_view name, Pending<Cell>& call) noexcept override;
  void guarantees(Pending<Promise>& call) noexcept override;
  void init(Init what, Pending<Answer>& call) noexcept override;
  void inspect(Pending<Inspection>& call) noexcept override;
  void help(const Call* call, BootTime until, int wake) noexcept override {
    courier_.help(call, until, wake);
  }

 private:
  Flow state_guarantees(Courier::Ticket<Promise> ticket);
  Flow state_facts(Courier::Ticket<Inspection> ticket);
  Flow make_folders(Courier::Ticket<Answer> ticket);

  const Options options_;
  const Traits traits_;
  const Paths paths_;
  const std::unique_ptr<const Layout> layout_;
  Courier courier_;
  Keeper keeper_;
  OwnClaims claims_;
  Registry registry_;
  CellFolder cell_folder_;
};

}  // namespace holdfast::stores::zookeeper
