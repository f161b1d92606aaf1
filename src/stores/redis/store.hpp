// stores/redis/store.hpp: Claims and Cells on one server, a Sentinel's master or a Cluster.
//
// A call becomes a task (claims.cpp, cells.cpp, listing.cpp, inquiry.cpp), the router finds its
// server, and the exchange carries it there and back.
#pragma once

#include <functional>
#include <mutex>

#include "stores/redis/exchange.hpp"
#include "stores/redis/options.hpp"
#include "stores/redis/router.hpp"
#include "stores/redis/subscription.hpp"

namespace holdfast::stores::redis {

class RedisStore final : public Backend, public Cells, private Listener {
 public:
  RedisStore(Options options, Hints& hints);
  ~RedisStore() override;
  bool make() noexcept { return exchange_.make(); }

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
  void help(const Call* call, BootTime until, int wake) noexcept override {
    exchange_.help(call, until, wake);
  }

  // ── for tasks ──
  const Options& options() const noexcept { return options_; }
  const Setting& setting() const noexcept { return options_.setting; }
  const Subscription& subscription() const noexcept { return subscription_; }  // requires mutex()
  std::mutex& mutex() noexcept { return exchange_.mutex(); }
  std::uint16_t slot_of(std::string_view name) const;
  void send(TaskPtr task) noexcept;  // without mutex()
  // The same for an ask; while this user may not publish, it refuses the ask.
  void send_ask(TaskPtr task, const Ask& ask) noexcept;
  void stand_in_line(TaskPtr ask) noexcept;  // sends it once this process listens
  void send_to_each(const std::function<TaskPtr()>& make);
  bool fit() const noexcept { return fit_; }  // for correctness; requires mutex()
  void found_fit() noexcept { fit_ = true; }  // on this connection; requires mutex()
  void found_silenced() noexcept { subscription_.found_silenced(); }  // requires mutex()

 private:
  template <class Send>
  void sent(TaskPtr task, Send&& send) noexcept;
  void finished(TaskPtr task) noexcept override { exchange_.finished(std::move(task)); }
  bool redirected(TaskPtr& task, Link& from, const Reply& error) override;
  void pushed(Link& link, const Reply& reply) override;
  void opened(Link& link) noexcept override;
  void broke(Link& link) noexcept override;
  void moved() noexcept override { subscription_.moved(BootClock::now()); }
  void added(Link& spare) override { exchange_.add(spare); }
  void submit(Link& to, TaskPtr&& task, BootTime now) override {
    exchange_.submit(to, std::move(task), now);
  }

  const Options options_;
  const Traits traits_;
  Exchange exchange_;
  const std::unique_ptr<Router> router_;
  Subscription subscription_;
  bool fit_ = false;
};

}  // namespace holdfast::stores::redis
