// stores/etcd/store.hpp: Claims and Cells over a cluster of etcd.
//
// A call becomes a flow: claims.cpp (ask), renewal.cpp, release.cpp, cells.cpp, inquiry.cpp. The
// asks and releases of one claim take turns; a renewal takes one only to lower the weight.
// watching.cpp turns changes of keys into hints.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <unordered_map>

#include "stores/common/cell.hpp"
#include "stores/common/courier.hpp"
#include "stores/common/flow.hpp"
#include "stores/etcd/asked.hpp"
#include "stores/etcd/client.hpp"
#include "stores/etcd/entry.hpp"
#include "stores/etcd/keys.hpp"
#include "stores/etcd/options.hpp"

namespace holdfast::stores::etcd {

class EtcdStore final : public Backend, public Cells, private Watching {
 public:
  EtcdStore(Options options, Hints& hints);
  ~EtcdStore() override;

  const Traits& traits() const noexcept override { return traits_; }
  Cells* cells() noexcept override { return this; }

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
  void close(BootTime until) noexcept override;  // revokes the leases in pool_
  void help(const Call* call, BootTime until, int wake) noexcept override {
    courier_.help(call, until, wake);
  }

 private:
  template <class R>
  using Ticket = Courier::Ticket<R>;
  // The line of a name, as it was read.
  struct Seen : Reply {
    Row row;
  };

  // ── claims.cpp ──
  Flow answer_ask(AskedPtr asked, Ticket<Answer> ticket);
  Later<Answer> stand(EntryPtr entry, AskedPtr asked, Ticket<Answer> ticket);
  Later<std::optional<Answer>> decide(EntryPtr entry, AskedPtr asked, const Seen& seen,
                                      std::size_t place);
  Flow come_forward(EntryPtr entry, std::int64_t revision);
  Later<std::optional<Answer>> let_in(EntryPtr entry, AskedPtr asked, const Row& row,
                                      std::size_t place);
  Answer busy(const Entry& entry, const Row& row) const;
  Later<Answer> leave(EntryPtr entry, Answer answer, BootTime deadline);
  Answer failed(const EntryPtr& entry, const Reply& reply);

  // ── placing.cpp ──
  Later<Reply> have_lease(EntryPtr entry, LeaseKept& kept, BootTime deadline);
  void set_lease(Entry& entry, const Lease& lease);  // requires mutex_
  Lease lease_of(const Entry& entry);
  void give_up_lease(Entry& entry);
  Later<LeaseGranted> grant(std::chrono::seconds ttl, BootTime deadline);
  Flow end_lease(Lease lease);  // and so all keys bound to it
  Later<Transacted> place(const Entry& entry, bool if_free, BootTime deadline);
  Later<Seen> look(EntryPtr entry, bool if_free, BootTime deadline);
  std::optional<std::size_t> settle(Entry& entry, const Seen& seen, const LeaseKept& kept);
  void set_placed(Entry& entry, std::int64_t created, std::int64_t changed);
  std::int64_t modified(const Entry& entry);
  void set_modified(Entry& entry, std::int64_t revision);
  Flow wake_next(EntryPtr entry);
  Later<Reply> have_delay_lease(EntryPtr entry, BootTime deadline);
  Later<bool> write_own_delay(EntryPtr entry, BootTime deadline);

  // ── release.cpp ──
  Flow answer_release(std::vector<Drop> drops, BootTime deadline, Ticket<std::span<Answer>> ticket);
  Later<Answer> withdraw(ClaimId claim, bool doubtful, Millis ttl, BootTime deadline);
  Later<Removed> remove_own(EntryPtr entry, BootTime deadline);
  Later<Answer> take_out(EntryPtr entry, bool doubtful, BootTime deadline);
  Flow answer_revoke(std::string name, bool now, BootTime deadline, Ticket<Answer> ticket);
  void add_revocation(Transaction& step, const Standing& holder, bool now) const;

  // ── renewal.cpp ──
  struct Renewing;
  Flow answer_renew(std::vector<Keep> keeps, BootTime deadline, Ticket<std::span<Answer>> ticket);
  void begin_renewing(const Keep& keep, Renewing& one);
  Later<bool> renew_once(std::vector<Renewing>& all, BootTime deadline);
  Later<bool> keep_delays(std::vector<Renewing*>& kept, BootTime deadline);
  void finish_renewing(Renewing& one, const Transacted& read, std::size_t at);
  Later<std::optional<Answer>> lower(EntryPtr entry, std::uint32_t weight, BootTime deadline);

  // ── cells.cpp, inquiry.cpp ──
  Flow answer_describe(std::string name, BootTime deadline, Ticket<Listing> ticket);
  Flow answer_list(std::string prefix, BootTime deadline, Ticket<Listing> ticket);
  struct Told;
  void add_line(const std::string& where, const std::vector<KeyValue>& keys, Told& told) const;
  Later<bool> tell_time_left(Told& told, BootTime deadline);
  Flow answer_guarantees(BootTime deadline, Ticket<Promise> ticket);
  Flow answer_inspect(BootTime deadline, Ticket<Inspection> ticket);
  Flow answer_init(BootTime deadline, Ticket<Answer> ticket);
  struct CellChange;
  Flow answer_change(std::shared_ptr<const CellChange> change, Ticket<Cell> ticket);
  Flow answer_get(std::string name, BootTime deadline, Ticket<Cell> ticket);

  // ── entries; store.cpp ──
  EntryPtr enter(const Ask& ask);   // null: it was withdrawn
  void sweep(BootTime now);         // requires mutex_
  bool in_the_way(const Ask& ask);  // dialect: it clashes with a name in use
  EntryPtr find(const ClaimId& claim);
  void forget(Entry& entry);
  void remember_withdrawn(const ClaimId& claim, Millis ttl);
  Holder describe(const std::string& name, const Standing& standing, bool waits) const;

  // ── watching.cpp ──
  void watch_ahead(const EntryPtr& entry, const Row& row, std::size_t place, std::int64_t revision);
  void watch_all(const EntryPtr& entry, std::int64_t revision);
  void watch_for(const EntryPtr& entry, Client::Watch watch, std::int64_t revision);
  void stop_watching_ahead(Entry& entry) noexcept;
  void watch_own_later(const EntryPtr& entry);
  bool watch_own(const EntryPtr& entry) noexcept;
  Flow watch_own_again(EntryPtr entry);
  void unwatch(Entry& entry) noexcept;
  EntryPtr watched_by(WatchId watch, bool& own, bool over);
  void own_changed(const EntryPtr& entry, bool ended) noexcept;
  void tell_look(const EntryPtr& entry) noexcept;
  void opened(WatchId watch, std::int64_t revision) noexcept override;
  void changed(WatchId watch, const Change& change) noexcept override;
  void closed(WatchId watch) noexcept override;
  BootTime tick(BootTime now) noexcept;

  const Options options_;
  const Layout layout_;
  const Traits traits_;
  Courier courier_;
  Client client_;

  std::mutex mutex_;
  std::map<ClaimId, EntryPtr> entries_;
  std::uint64_t entered_ = 0;
  std::map<ClaimId, BootTime> withdrawn_;  // refused until then
  LeasePool pool_;
  std::size_t ending_ = 0;  // leases that are being revoked
  std::condition_variable none_ending_;
  struct Watched {
    std::weak_ptr<Entry> entry;
    bool own = false;
  };
  std::unordered_map<WatchId, Watched> watched_;
  WatchId last_watch_ = 0;
  std::deque<std::pair<BootTime, std::weak_ptr<Entry>>> to_watch_;
};

}  // namespace holdfast::stores::etcd
