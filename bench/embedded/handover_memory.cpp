// Goal: sixteen threads on one name of `memory:` pass it on at least 0.6 times as fast as a bare
// line of futexes, and each gets its turn. The bare line is what a handover cannot do without:
// first come first served, the one who leaves wakes the next. It has no name, no token, no lease,
// no deadline and no way to leave the line.
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "contention.hpp"
#include "holdfast/holdfast.hpp"

namespace {

using namespace std::chrono_literals;

constexpr int rounds = 15;
constexpr auto span = 200ms;

class FutexLine {
 public:
  struct alignas(64) Seat {
    std::atomic<std::uint32_t> turn{0};
    Seat* next = nullptr;
  };

  void enter(Seat& seat) {
    lock();
    if (!held_) {
      held_ = true;
      return unlock();
    }
    seat.next = nullptr;
    seat.turn.store(0, std::memory_order_relaxed);
    (first_ ? last_->next : first_) = &seat;
    last_ = &seat;
    unlock();
    while (seat.turn.load(std::memory_order_acquire) == 0)
      ::syscall(SYS_futex, &seat.turn, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  }
  void leave() {
    lock();
    Seat* const next = first_;
    if (next)
      first_ = next->next;
    else
      held_ = false;
    unlock();
    if (!next) return;
    next->turn.store(1, std::memory_order_release);
    ::syscall(SYS_futex, &next->turn, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  }

 private:
  void lock() {
    for (int spins = 0; busy_.exchange(true, std::memory_order_acquire); ++spins)
      if (spins >= 50) ::sched_yield();
  }
  void unlock() { busy_.store(false, std::memory_order_release); }

  std::atomic<bool> busy_{false};
  bool held_ = false;
  Seat* first_ = nullptr;
  Seat* last_ = nullptr;
};

void measure(const bench::Place&) {
  FutexLine line;
  std::array<FutexLine::Seat, bench::contenders> seats;
  const auto lock = holdfast::open("memory:").value().lock("bench");

  std::vector<double> our_jain;
  std::vector<double> line_jain;
  const auto counted = [](const bench::Contention& had, std::vector<double>& jain) {
    jain.push_back(had.jain);
    return had.handovers;
  };
  const auto result = bench::in_turn(
      rounds,
      [&] {
        return counted(bench::contend(span,
                                      [&](std::size_t, auto&& work) {
                                        const auto lease = lock.acquire().value();
                                        work();
                                      }),
                       our_jain);
      },
      [&] {
        return counted(bench::contend(span,
                                      [&](std::size_t me, auto&& work) {
                                        line.enter(seats[me]);
                                        work();
                                        line.leave();
                                      }),
                       line_jain);
      },
      [](double ours, double bare) { return ours / bare; });

  const bench::Spread ours = bench::spread_of(our_jain);
  bench::print({.what = "handovers, 16 threads, memory: / futex line",
                .ours = bench::shown(bench::spread_of(result.ours).median, "/s"),
                .beside = bench::shown(bench::spread_of(result.beside).median, "/s"),
                .measured = bench::spread_of(result.compared),
                .goal = {bench::Goal::Side::at_least, 0.6}});
  bench::print({.what = "fairness of these (Jain index)",
                .ours = bench::shown(ours.median, ""),
                .beside = bench::shown(bench::spread_of(line_jain).median, ""),
                .measured = ours,
                .unit = "",
                .goal = {bench::Goal::Side::at_least, 0.99}});
}

}  // namespace

int main(int count, char** arguments) { return bench::run(count, arguments, measure); }
