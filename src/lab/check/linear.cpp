#include "lab/check/linear.hpp"

#include <array>
#include <bitset>
#include <unordered_set>
#include <utility>

namespace holdfast::lab {
namespace {

constexpr std::size_t most_states = 200'000;
constexpr std::array<std::string_view, 5> words{
    "owner-aware mutex", "reentrant mutex", "fenced mutex", "reentrant fenced mutex", "permits"};

// The model of a correct lock: who is inside, and the last token.
class Lock {
 public:
  Lock(Model model, std::uint32_t capacity) : model_(model), capacity_(capacity) {}

  // Performs the operation and returns true, if it could happen now.
  bool apply(const Operation& operation) {
    return operation.kind == Operation::Kind::acquire ? enter(operation) : leave(operation.lease);
  }
  std::uint64_t hash() const noexcept {
    std::uint64_t sum = last_token_ * 0x9e3779b97f4a7c15;
    for (const Inside& one : inside_) sum += (one.lease + 1) * 0xbf58476d1ce4e5b9;
    return sum;
  }

 private:
  struct Inside {
    std::uint64_t lease, owner, token;
    std::uint32_t weight;
  };

  bool fenced() const {
    return model_ == Model::fenced_mutex || model_ == Model::reentrant_fenced_mutex;
  }
  bool reentrant() const {
    return model_ != Model::owner_aware_mutex && model_ != Model::fenced_mutex;
  }
  // An owner that is inside already may re-enter, and weighs nothing more.
  const Inside* entered(const Operation& operation) const {
    if (!reentrant() || operation.owner == 0) return nullptr;
    const auto own = std::ranges::find(inside_, operation.owner, &Inside::owner);
    return own == inside_.end() ? nullptr : &*own;
  }
  std::uint64_t weight() const {
    std::uint64_t sum = 0;
    for (const Inside& one : inside_) sum += one.weight;
    return sum;
  }
  bool enter(const Operation& operation) {
    const Inside* own = entered(operation);
    if (own && fenced() && operation.token != own->token) return false;
    if (!own && weight() + operation.weight > capacity_) return false;
    if (!own && fenced() && operation.token <= std::exchange(last_token_, operation.token))
      return false;
    inside_.push_back(
        {operation.lease, operation.owner, operation.token, own ? 0 : operation.weight});
    return true;
  }
  bool leave(std::uint64_t lease) {
    return std::erase_if(inside_, [&](const Inside& one) { return one.lease == lease; }) > 0;
  }

  Model model_;
  std::uint32_t capacity_;
  std::uint64_t last_token_ = 0;
  std::vector<Inside> inside_;
};

class Search {
 public:
  Search(const std::vector<Operation>& operations, const Lock& lock)
      : operations_(operations), lock_(lock) {
    for (const Operation& operation : operations)
      to_return_ += operation.returned != not_yet ? 1 : 0;
  }

  Verdict run() {
    path_.push_back({lock_, 0, operations_.size()});
    while (!path_.empty()) {
      if (to_return_ == 0) return Verdict::linear;
      if (seen_.size() > most_states) return Verdict::undecided;
      if (deeper()) continue;
      if (path_.back().chosen < operations_.size()) mark(path_.back().chosen, false);
      path_.pop_back();
    }
    return Verdict::broken;
  }

 private:
  // A state on the path, the operation that led to it, and the one to try next.
  struct Frame {
    Lock lock;
    std::size_t next;
    std::size_t chosen;
  };

  // Takes one more operation that could come next, if it leads to a new state.
  bool deeper() {
    const std::int64_t first_return = earliest_return();
    for (std::size_t& next = path_.back().next; next < operations_.size();) {
      const std::size_t index = next++;
      if (operations_[index].called > first_return) return false;
      if (done_[index]) continue;
      Lock after = path_.back().lock;
      if (!after.apply(operations_[index])) continue;
      mark(index, true);
      if (seen_.insert(state(after)).second) {
        path_.push_back({std::move(after), 0, index});
        return true;
      }
      mark(index, false);
    }
    return false;
  }
  // An operation that was called after this cannot come first.
  std::int64_t earliest_return() {
    std::int64_t earliest = not_yet;
    for (std::size_t i = 0; i < operations_.size() && operations_[i].called <= earliest; ++i)
      if (!done_[i]) earliest = std::min(earliest, operations_[i].returned);
    return earliest;
  }
  void mark(std::size_t index, bool done) {
    done_[index] = done;
    if (operations_[index].returned == not_yet) return;
    to_return_ = done ? to_return_ - 1 : to_return_ + 1;
  }
  std::size_t state(const Lock& lock) const {
    return std::hash<std::bitset<most_operations>>()(done_) ^ lock.hash();
  }

  const std::vector<Operation>& operations_;
  Lock lock_;
  std::bitset<most_operations> done_;
  std::size_t to_return_ = 0;
  std::unordered_set<std::size_t> seen_;
  std::vector<Frame> path_;
};

Model model_of(const std::vector<Operation>& operations, std::uint32_t capacity, bool tokens) {
  if (std::ranges::any_of(operations, [&](const Operation& one) { return one.weight < capacity; }))
    return Model::permits;
  const bool owned =
      std::ranges::any_of(operations, [](const Operation& one) { return one.owner != 0; });
  if (owned) return tokens ? Model::reentrant_fenced_mutex : Model::reentrant_mutex;
  return tokens ? Model::fenced_mutex : Model::owner_aware_mutex;
}

}  // namespace

std::string_view to_string(Model model) noexcept {
  return words.at(static_cast<std::size_t>(model));
}

Verdict linear(std::vector<Operation> operations, Model model, std::uint32_t capacity) {
  std::ranges::stable_sort(operations, {}, &Operation::called);
  if (operations.size() > most_operations) return Verdict::undecided;
  return Search(operations, Lock(model, capacity)).run();
}

std::vector<Operation> operations_of(const std::vector<Acquire>& acquires, std::uint16_t name) {
  using Kind = Operation::Kind;
  std::vector<Operation> all;
  for (const Acquire& one : acquires) {
    if (one.name != name || !one.leased()) continue;
    if (one.ended() <= one.granted) continue;  // it had ended before its caller got it
    // An owner is known only inside its process.
    const std::uint64_t owner =
        one.owner ? one.owner * 0x10000 + static_cast<std::uint16_t>(one.process) + 1 : 0;
    const Operation acquire{Kind::acquire, one.asked, one.granted, one.op,
                            owner,         one.token, one.weight};
    all.push_back(acquire);
    Operation end = acquire;
    const bool in_time = one.release < std::min({one.lost, one.until, one.died});
    end.kind = in_time ? Kind::release : Kind::lapse;
    end.called = in_time ? one.release : one.ended();
    end.returned = in_time && (one.said.empty() || one.said == "yes") ? one.released : not_yet;
    if (end.called != not_yet) all.push_back(end);
  }
  std::ranges::stable_sort(all, {}, &Operation::called);
  if (all.size() <= most_operations) return all;
  const std::int64_t cut = all[most_operations].called;
  all.resize(most_operations);
  std::erase_if(
      all, [&](const Operation& one) { return one.kind == Kind::acquire && one.returned >= cut; });
  for (Operation& one : all)
    if (one.returned >= cut) one.returned = not_yet;
  return all;
}

void check_linear(const Account& account, const Expectation& expected, Violations& found) {
  if (!expected.exclusive) return;
  std::map<std::uint16_t, std::uint32_t> names;
  for (const Acquire& one : account.acquires()) names[one.name] = one.capacity;
  for (const auto& [name, capacity] : names) {
    const std::vector<Operation> operations = operations_of(account.acquires(), name);
    const Model model = model_of(operations, capacity, expected.tokens);
    const Verdict verdict = linear(operations, model, capacity);
    if (verdict == Verdict::linear) continue;
    found.push_back({Checker::linear,
                     lock(name) + ": " +
                         (verdict == Verdict::broken ? "no order of its operations is that of "
                                                     : "too hard to judge against ") +
                         std::string(to_string(model)),
                     operations.empty() ? 0 : operations.back().called});
  }
}

}  // namespace holdfast::lab
