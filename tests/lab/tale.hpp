// A history made by hand, in milliseconds and few words. Unless said otherwise, everything happens
// to lock 0 at node 0.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "lab/check/check.hpp"

namespace holdfast::lab::testing {

class Tale {
 public:
  static constexpr std::int64_t ms = 1'000'000;

  Tale& capacity(std::uint32_t capacity) {
    capacity_ = capacity;
    return *this;
  }
  // One lease. Its claim is `claim`, by default the same number as `op`.
  Tale& ask(std::int64_t at, std::uint64_t op, std::int16_t process, std::uint32_t weight = 0,
            std::uint64_t owner = 0) {
    ops_.push_back({op, process, weight ? weight : capacity_, owner});
    return tell(at, What::ask, op);
  }
  Tale& granted(std::int64_t at, std::uint64_t op, std::uint64_t token, std::int64_t until,
                std::uint64_t claim = 0) {
    Event event = about(at, What::granted, op);
    event.token = token;
    event.until = until * ms;
    event.claim = claim ? claim : op;
    return add(event);
  }
  Tale& refused(std::int64_t at, std::uint64_t op) { return tell(at, What::refused, op, "busy"); }
  Tale& release(std::int64_t at, std::uint64_t op) { return tell(at, What::release, op); }
  Tale& released(std::int64_t at, std::uint64_t op) { return tell(at, What::released, op, "yes"); }
  Tale& lost(std::int64_t at, std::uint64_t op, const char* why = "expired") {
    return tell(at, What::lost, op, why);
  }
  Tale& tell(std::int64_t at, What what, std::uint64_t op, const char* note = "") {
    return add(about(at, what, op, note));
  }

  // The store's view of a process's claim.
  Tale& store(std::int64_t at, What what, std::uint64_t claim, std::int16_t process,
              std::uint64_t number = 0, std::int64_t until = 0, const char* note = "") {
    Event event{.at = at * ms, .what = what, .flag = true, .process = process, .node = 0};
    event.claim = claim;
    event.token = number;
    event.until = until * ms;
    event.note = note;
    event.weight = event.capacity = capacity_;
    return add(event);
  }
  Tale& ended(std::int64_t at, std::uint64_t claim, std::int16_t process, const char* why) {
    return store(at, What::store_ended, claim, process, 0, 0, why);
  }
  Tale& request(std::int64_t at, std::uint64_t claim, std::int16_t process, const char* what) {
    Event event{.at = at * ms, .what = What::arrived, .process = process, .node = 0};
    event.claim = claim;
    event.note = what;
    return add(event);
  }
  Tale& write(std::int64_t at, What what, std::uint64_t token, bool fenced = true) {
    Event event{.at = at * ms, .what = what, .flag = fenced};
    event.token = token;
    return add(event);
  }
  Tale& process(std::int64_t at, What what, std::int16_t process, const char* note = "") {
    Event event{.at = at * ms, .what = what, .process = process};
    event.note = note;
    return add(event);
  }
  Tale& calm(std::int64_t at) { return process(at, What::calm, nobody); }

  // The same, sorted by time.
  History history() const {
    std::vector<Event> events = events_;
    std::ranges::stable_sort(events, {}, &Event::at);
    History history;
    for (const Event& event : events) history.add(event);
    return history;
  }

 private:
  struct Op {
    std::uint64_t op;
    std::int16_t process;
    std::uint32_t weight;
    std::uint64_t owner;
  };
  Event about(std::int64_t at, What what, std::uint64_t op, const char* note = "") const {
    Event event{.at = at * ms, .what = what};
    event.op = op;
    event.note = note;
    event.capacity = capacity_;
    const auto known = std::ranges::find(ops_, op, &Op::op);
    if (known == ops_.end()) return event;
    event.process = known->process;
    event.weight = known->weight;
    event.owner = known->owner;
    return event;
  }
  Tale& add(const Event& event) {
    events_.push_back(event);
    return *this;
  }

  std::uint32_t capacity_ = 1;
  std::vector<Op> ops_;
  std::vector<Event> events_;
};

}  // namespace holdfast::lab::testing
