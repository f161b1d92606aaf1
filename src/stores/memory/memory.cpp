#include "stores/memory/memory.hpp"

#include <new>

#include "stores/common/clock.hpp"
#include "stores/memory/world.hpp"

namespace holdfast::stores {
namespace {

constexpr Traits memory_traits{
    .scheme = "memory",
    .immediate = true,
    .processes = false,
    .cells = true,
    .expiring_cells = true,
};

// Goes with Said::unknown, because a step may have failed half-way.
Problem out_of_memory() { return {Errc::unavailable, "no_memory", "out of memory"}; }

class MemoryStore final : public Backend, public Cells {
 public:
  MemoryStore(World& world, Hints& hints)
      : world_(world), door_(std::make_shared<Door>(hints)), party_(world.enter(door_)) {}
  ~MemoryStore() override {
    world_.leave(party_);
    door_->close();
  }

  const Traits& traits() const noexcept override { return memory_traits; }
  Cells* cells() noexcept override { return this; }

  void ask(const Ask& ask, Pending<Answer>& call) noexcept override {
    step(ask.name, call, [&](core::Admission& line, core::Notices& notices) {
      return line.ask(ask, party_, now_us(), notices);
    });
  }
  void renew(std::span<const Keep> keeps, Pending<std::span<Answer>>& call) noexcept override {
    steps(keeps, call, [](const Keep& keep, core::Admission& line, core::Notices& notices) {
      return line.renew(keep, now_us(), notices);
    });
  }
  void release(std::span<const Drop> drops, Pending<std::span<Answer>>& call) noexcept override {
    steps(drops, call, [](const Drop& drop, core::Admission& line, core::Notices& notices) {
      return line.release(drop, now_us(), notices);
    });
  }
  void revoke(std::string_view name, bool now, Pending<Answer>& call) noexcept override {
    step(name, call, [&](core::Admission& line, core::Notices& notices) {
      return line.revoke(now, now_us(), notices);
    });
  }
  void describe(std::string_view name, Pending<Listing>& call) noexcept override {
    tell_holders(call, [&] { return world_.holders(name); });
  }
  void list(std::string_view prefix, Pending<Listing>& call) noexcept override {
    tell_holders(call, [&] { return world_.list(prefix); });
  }

  void add(const Add& add, Pending<Cell>& call) noexcept override {
    change(add.name, call, [&](auto& state, std::int64_t now, std::uint64_t first_version) {
      return stores::add(add, state, now, first_version);
    });
  }
  void swap(const Swap& swap, Pending<Cell>& call) noexcept override {
    change(swap.name, call, [&](auto& state, std::int64_t now, std::uint64_t first_version) {
      return stores::swap(swap, state, now, first_version);
    });
  }
  void get(std::string_view name, Pending<Cell>& call) noexcept override {
    change(name, call, [](auto& state, std::int64_t, std::uint64_t) { return stores::get(state); });
  }

  void guarantees(Pending<Promise>& call) noexcept override {
    Promise promise;
    promise.guarantees = {.purpose = Purpose::correctness,
                          .tokens = true,
                          .fifo = true,
                          .survives_clock_jump = true,
                          .because = {"it lives in this process, serves no other and ends with it",
                                      "time is counted on the boot clock, which nobody sets"}};
    call.done(std::move(promise));
  }
  void init(Init, Pending<Answer>& call) noexcept override {
    Answer answer;
    answer.said = Said::yes;
    answer.store_us = now_us();
    call.done(std::move(answer));
  }

  // Nothing to help with: every call is answered before it returns, and hints come on other stores'
  // threads.
  void help(const Call* call, BootTime until, int wake) noexcept override {
    if (call) return;
    pollfd waker{wake, POLLIN, 0};
    poll_until({&waker, 1}, until);
  }

 private:
  // done() may end this store, so nothing after it uses the store.
  template <class Step>
  void step(std::string_view name, Pending<Answer>& call, Step&& step) noexcept {
    core::Notices notices;
    std::string told_name;
    Answer answer;
    try {
      answer = world_.at(name, [&](core::Admission& line) { return step(line, notices); });
      if (!notices.empty()) told_name = name;
    } catch (const std::bad_alloc&) {
      answer = {};
      answer.said = Said::unknown;
      answer.problem = out_of_memory();
    }
    const std::int64_t store_us = answer.store_us;
    World& world = world_;
    call.done(std::move(answer));
    if (!notices.empty()) world.tell(told_name, notices, store_us);
  }

  template <class Request, class Step>
  void steps(std::span<const Request> requests, Pending<std::span<Answer>>& call,
             Step&& step) noexcept {
    struct Told {
      std::string name;
      core::Notices notices;
      std::int64_t store_us;
    };
    std::vector<Told> told;
    Answer only;
    std::vector<Answer> several;
    std::span<Answer> answers(&only, requests.size() == 1 ? 1 : 0);
    std::size_t taken = 0;
    try {
      if (requests.size() > 1) answers = several = std::vector<Answer>(requests.size());
      for (; taken < requests.size(); ++taken) {
        const Request& request = requests[taken];
        core::Notices notices;
        answers[taken] = world_.at(
            request.name, [&](core::Admission& line) { return step(request, line, notices); });
        if (!notices.empty())
          told.push_back({std::string(request.name), std::move(notices), answers[taken].store_us});
      }
    } catch (const std::bad_alloc&) {
      for (; taken < answers.size(); ++taken) {
        answers[taken].said = Said::unknown;
        answers[taken].problem = out_of_memory();
      }
    }
    World& world = world_;
    call.done(answers);
    for (const Told& each : told) world.tell(each.name, each.notices, each.store_us);
  }

  template <class Find>
  static void tell_holders(Pending<Listing>& call, Find&& find) noexcept {
    Listing listing;
    try {
      listing.holders = find();
    } catch (const std::bad_alloc&) {
      listing.problem = out_of_memory();
    }
    call.done(std::move(listing));
  }

  template <class Change>
  void change(std::string_view name, Pending<Cell>& call, Change&& change) noexcept {
    Cell cell;
    try {
      const std::int64_t now = now_us();
      cell = world_.at_cell(name, now, [&](auto& state, std::uint64_t first_version) {
        return change(state, now, first_version);
      });
    } catch (const std::bad_alloc&) {
      cell = {};
      cell.said = Said::unknown;
      cell.problem = out_of_memory();
    }
    call.done(std::move(cell));
  }

  World& world_;
  std::shared_ptr<Door> door_;
  core::Party party_;
};

std::unique_ptr<Backend> open_memory(const Opening& opening, Problem& problem) {
  const Url& url = opening.url;
  if (url.has_authority) {
    problem = {Errc::invalid, "url", "a memory store has no host: write memory: or memory:NAME"};
    return nullptr;
  }
  if (!url.options.empty()) {
    problem = {Errc::invalid, "unknown_option",
               "a memory store knows no option '" + url.options.begin()->first + "'"};
    return nullptr;
  }
  return std::make_unique<MemoryStore>(World::named(url.path), opening.hints);
}

constexpr Module module{.version = module_version, .schemes = "memory", .open = open_memory};

}  // namespace

const Module& memory_module() noexcept { return module; }

}  // namespace holdfast::stores
