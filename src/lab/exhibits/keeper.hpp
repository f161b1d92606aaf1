// lab/exhibits/keeper.hpp: a node that stores one key, "lock": its owner, and its expiry by the
// node's own clock.
#pragma once

#include "lab/exhibits/talk.hpp"

namespace holdfast::lab::exhibits {

class Keeper : public Node {
 public:
  Keeper(Stage& on, std::int16_t as) : Node(on, as) {}

  // ── what happens to it ──
  void jumps(Time when, Nanos by);                // its clock, forward
  void restarts_empty(Time crash, Time restart);  // it forgets the key
  void copies_to(Keeper& replica, Nanos lag);     // each change, `lag` later, if it is still alive
  void takes_over(Time when);                     // a replica becomes the master

  // ── what it does ──
  bool take(Actor& who, std::optional<Nanos> ttl);  // true: it was free
  void extend(Nanos ttl);
  bool drop(const char* why);  // the key of any owner; false: there was none
  bool is_of(const Actor& who) const noexcept { return key_ && key_->owner == &who; }
  Actor* owner() const noexcept { return key_ ? key_->owner : nullptr; }

  std::uint64_t counter = 32;  // INCR counter

 private:
  struct Key {
    Actor* owner;
    std::uint64_t op;
    std::optional<BootTime> end;
  };
  struct Replica {
    Keeper* node;
    Nanos lag;
  };
  void tell_key(What what, const char* note = "");
  void end_if_due();
  void copy();
  void adopt(const std::optional<Key>& key, std::uint64_t count);

  std::optional<Key> key_;
  std::optional<Replica> replica_;
};

}  // namespace holdfast::lab::exhibits
