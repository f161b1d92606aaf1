// Goal: a held lock with a name of 32 bytes takes less than 1 KiB in the client, a waiting
// coroutine less than 2 KiB. `memory:` keeps its data in the same process, so the client alone is
// measured on a store that keeps nothing.
#include <poll.h>

#include <atomic>
#include <fstream>
#include <optional>
#include <stdexcept>
#include <thread>

#include "holdfast/backend.hpp"
#include "holdfast/holdfast.hpp"
#include "measure.hpp"
#include "support/detached.hpp"
#include "use.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t locks = 100'000;
constexpr std::size_t waiters = 10'000;

// ── a store that grants everything and keeps nothing ─────────────────────────────────────────────

constexpr Traits nothing_traits{.scheme = "nothing", .immediate = true};

class Nothing final : public Backend {
 public:
  const Traits& traits() const noexcept override { return nothing_traits; }
  void ask(const Ask& ask, Pending<Answer>& call) noexcept override {
    call.done({.said = Said::yes, .number = ++number_, .ttl = ask.ttl});
  }
  void renew(std::span<const Keep> keeps, Pending<std::span<Answer>>& call) noexcept override {
    std::vector<Answer> answers;
    for (const Keep& keep : keeps) answers.push_back({.said = Said::yes, .ttl = keep.ttl});
    call.done(answers);
  }
  void release(std::span<const Drop> drops, Pending<std::span<Answer>>& call) noexcept override {
    std::vector<Answer> answers(drops.size(), Answer{.said = Said::yes});
    call.done(answers);
  }
  void describe(std::string_view, Pending<Listing>& call) noexcept override { call.done({}); }
  void list(std::string_view, Pending<Listing>& call) noexcept override { call.done({}); }
  void revoke(std::string_view, bool, Pending<Answer>& call) noexcept override {
    call.done({.said = Said::gone});
  }
  void guarantees(Pending<Promise>& call) noexcept override { call.done({}); }
  void init(Init, Pending<Answer>& call) noexcept override { call.done({.said = Said::yes}); }
  void help(const Call* call, BootTime until, int wake) noexcept override {
    if (call) return;
    pollfd waker{wake, POLLIN, 0};
    const auto left = std::chrono::ceil<Millis>(until - BootClock::now());
    ::poll(&waker, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000)));
  }

 private:
  std::atomic<std::uint64_t> number_{0};
};

std::unique_ptr<Backend> open_nothing(const Opening&, Problem&) {
  return std::make_unique<Nothing>();
}
constexpr Module nothing{.schemes = "nothing", .open = open_nothing};

// ── what is in use ───────────────────────────────────────────────────────────────────────────────

using bench::Use;

void print(const std::string& what, const Use& use, const bench::Goal& goal) {
  bench::print({.what = what,
                .ours = bench::shown(use.heap, "B of heap"),
                .beside = bench::shown(use.resident, "B resident"),
                .measured = {use.heap, use.heap, use.heap},
                .unit = "B",
                .goal = goal});
}

// ── locks ────────────────────────────────────────────────────────────────────────────────────────

std::string name_of(std::size_t number) {
  const std::string digits = std::to_string(number);
  return "bench/room/" + std::string(32 - 11 - digits.size(), '0') + digits;
}

struct Held {
  Use lease;      // the lease alone
  Use with_lock;  // the lease and its Lock object
};

// The ttl is so long that no renewal is due meanwhile.
Held hold_many(const Store& store) {
  const LockOptions options{.ttl = 24h};
  std::vector<Lease> leases;
  std::vector<Lock> kept;
  leases.reserve(locks);
  kept.reserve(locks);
  (void)store.lock("warm", options).acquire().value();

  Held held;
  const Use before = Use::now();
  for (std::size_t i = 0; i < locks; ++i)
    leases.push_back(store.lock(name_of(i), options).acquire().value());
  held.lease = Use::now().since(before, locks);
  for (std::size_t i = 0; i < locks; ++i) kept.push_back(store.lock(name_of(i), options));
  held.with_lock = Use::now().since(before, locks);
  return held;
}

// ── coroutines ───────────────────────────────────────────────────────────────────────────────────

support::Detached wait(const Lock& lock, std::stop_token stop, std::atomic<std::size_t>& ended) {
  (void)co_await lock.acquire_async(std::move(stop));
  ++ended;
}

std::size_t threads_now() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (word == "Threads:") break;
  std::size_t count = 0;
  status >> count;
  return count;
}

struct Line {
  Use each;
  std::size_t threads = 0;
};

Line wait_many(const Store& store) {
  const Lock lock = store.lock(name_of(0), {.ttl = 24h});
  const auto lease = lock.acquire().value();
  std::stop_source leave;
  std::atomic<std::size_t> ended{0};
  const Use before = Use::now();
  for (std::size_t i = 0; i < waiters; ++i) wait(lock, leave.get_token(), ended);
  const Line line{Use::now().since(before, waiters), threads_now()};
  if (ended != 0) throw std::runtime_error("a coroutine did not wait");
  leave.request_stop();
  while (ended < waiters) std::this_thread::sleep_for(1ms);
  return line;
}

void measure(const bench::Place&) {
  const Store store(nothing, "nothing:");
  const Line line = wait_many(store);
  const Held client = hold_many(store);
  const Held both = hold_many(open("memory:room").value());

  const bench::Goal kibibyte{bench::Goal::Side::at_most, 1024};
  print("a held lock, 32-byte name: its lease", client.lease, kibibyte);
  print("the same, its Lock object kept as well", client.with_lock, kibibyte);
  const double kept = both.lease.heap - client.lease.heap;
  bench::print({.what = "what memory: itself keeps of it",
                .ours = bench::shown(kept, "B of heap"),
                .measured = {kept, kept, kept},
                .unit = "B"});
  print("a waiting coroutine, its frame included", line.each, {bench::Goal::Side::at_most, 2048});
  const auto threads = static_cast<double>(line.threads);
  bench::print({.what = "threads while 10,000 coroutines wait",
                .ours = std::to_string(line.threads),
                .measured = {threads, threads, threads},
                .unit = "",
                .goal = {bench::Goal::Side::at_most, 16}});
}

}  // namespace
}  // namespace holdfast

int main(int count, char** arguments) { return bench::run(count, arguments, holdfast::measure); }
