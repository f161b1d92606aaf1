// A world for gates: virtual time, one store, several processes, and a network that delays, loses
// and delivers late. One seed decides everything.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/admission.hpp"
#include "core/gate.hpp"

namespace holdfast::core::testing {

class Dice final : public Entropy {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed) {}
  std::uint64_t draw() noexcept override {  // splitmix64
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t bound) { return draw() % bound; }
  bool chance(unsigned percent) { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

struct Faults {
  unsigned lost_requests = 0;  // in percent
  unsigned lost_replies = 0;
  unsigned late_requests = 0;
  unsigned lost_messages = 0;
};

class World;

class Process final : public Gate {
 public:
  Process(World& world, const Terms& terms, std::uint64_t place)
      : Gate("name", terms), world_(world), place_(place) {}
  ~Process() override;

  struct Client final : Waiter {
    std::function<void(Client&)> settled;
  };
  // Calls back once, with the client's hold or its error.
  Client& want(std::shared_ptr<const Wish> wish, Nanos wait, std::function<void(Client&)> settled,
               Entrant owner = {});
  void cancel(Client& client);
  Released give_back(Hold& hold);
  void told(const Notice& notice, std::int64_t store_us);
  bool cut_off = false;  // nothing reaches the store, and nothing comes back

  template <class Event>
  void step(Event&& event);

 private:
  Claim* make_claim() noexcept override;
  void end_claim(Claim* claim) noexcept override;
  void wake_up();
  void start(Claim& claim, Claim::Order what);
  void call(Claim& claim, std::function<Answer()> at_store,
            std::function<void(const Answer&)> answered);

  World& world_;
  const std::uint64_t place_;
  std::vector<std::unique_ptr<Claim>> claims_;
  std::vector<std::unique_ptr<Client>> clients_;
  BootTime armed_ = never;
  bool stepping_ = false;
};

class World {
 public:
  explicit World(std::uint64_t seed, std::uint32_t handovers = 64);

  BootTime now() const { return now_; }
  std::int64_t store_us() const { return now_.time_since_epoch().count() / 1000; }
  Moment moment() { return {now_, Nanos(0), dice}; }
  void at(BootTime when, std::function<void()> event) {
    events_.emplace(std::pair(when, ++order_), std::move(event));
  }
  void after(Nanos delay, std::function<void()> event) { at(now_ + delay, std::move(event)); }
  // Runs until nothing is left to happen, or until the limit; false: it reached the limit.
  bool run(Nanos limit);
  void deliver(const Notices& notices);
  Process& process(std::size_t index) { return *processes_[index]; }
  void add_processes(std::size_t count);
  Nanos delay() { return slow + std::chrono::microseconds(50 + dice.below(500)); }

  Dice dice;
  Faults faults;
  Admission store;
  Terms terms;
  Nanos slow{0};  // added to each way
  std::uint64_t asks = 0;
  std::uint64_t drops = 0;

 private:
  BootTime now_{std::chrono::seconds(1000)};
  std::uint64_t order_ = 0;
  std::map<std::pair<BootTime, std::uint64_t>, std::function<void()>> events_;
  std::vector<std::unique_ptr<Process>> processes_;
};

// A wish for all of the lock, or for a share.
std::shared_ptr<Wish> exclusive(Millis ttl = Millis(6'000));
std::shared_ptr<Wish> reading(Millis ttl = Millis(6'000));

template <class Event>
void Process::step(Event&& event) {
  Orders orders;
  if (std::exchange(stepping_, true)) return event(world_.moment(), orders);
  event(world_.moment(), orders);
  for (bool more = true; more;) {
    collect(world_.moment(), orders, {});
    more = !orders.empty();
    for (std::size_t i = 0; i < orders.starts; ++i)
      start(*orders.start[i].claim, orders.start[i].what);
    for (std::size_t i = 0; i < orders.wakes; ++i) {
      auto& client = *static_cast<Client*>(orders.wake[i].continuation);
      if (client.settled && client.delivered)
        world_.after(Nanos(1000), [&client] { client.settled(client); });
    }
    orders.clear();
  }
  stepping_ = false;
  const BootTime next = std::max(next_tick(), world_.now());
  if (next_tick() == never || (armed_ <= next && armed_ > world_.now())) return;
  armed_ = next;
  world_.at(next, [this] { wake_up(); });
}

}  // namespace holdfast::core::testing
