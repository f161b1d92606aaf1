#include "lab/exhibits/keeper.hpp"

namespace holdfast::lab::exhibits {

void Keeper::jumps(Time when, Nanos by) {
  stage.at(when, [this, by] {
    machine.jump_boot(by);
    tell(What::jump, stage.kept("its clock jumps by +" + std::to_string(by / 1ms) + " ms"));
    end_if_due();
  });
}

void Keeper::restarts_empty(Time crash, Time restart) {
  dies(crash);
  stage.at(crash, [this] { drop("forgotten"); });
  stage.at(restart, [this] {
    machine.revive();
    tell(What::restart, "restarts empty");
  });
}

void Keeper::copies_to(Keeper& replica, Nanos lag) { replica_ = {&replica, lag}; }

void Keeper::takes_over(Time when) {
  stage.at(when, [this] { tell(What::failover, "becomes the master"); });
}

void Keeper::tell_key(What what, const char* note) {
  const bool ends = key_->end && what != What::store_ended;
  stage.tell({.what = what,
              .process = key_->owner->number,
              .node = number,
              .op = key_->op,
              .until = ends ? machine.when(*key_->end).count() : 0,
              .note = note});
}

bool Keeper::take(Actor& who, std::optional<Nanos> ttl) {
  if (key_) return false;
  key_ = {&who, who.op(), {}};
  if (ttl) key_->end = machine.boot() + *ttl;
  tell_key(What::store_granted);
  if (ttl) machine.at_boot(*key_->end, [this] { end_if_due(); });
  copy();
  return true;
}

void Keeper::extend(Nanos ttl) {
  key_->end = machine.boot() + ttl;
  tell_key(What::store_renewed);
  machine.at_boot(*key_->end, [this] { end_if_due(); });
  copy();
}

bool Keeper::drop(const char* why) {
  if (!key_) return false;
  tell_key(What::store_ended, why);
  key_.reset();
  copy();
  return true;
}

void Keeper::end_if_due() {
  if (key_ && key_->end && machine.boot() >= *key_->end) drop("expired");
}

void Keeper::copy() {
  if (!replica_) return;
  machine.after(replica_->lag, [this, key = key_, count = counter] {
    if (key || replica_->node->key_) replica_->node->adopt(key, count);
  });
}

void Keeper::adopt(const std::optional<Key>& key, std::uint64_t count) {
  if (key_) tell_key(What::store_ended, "replicated");
  key_ = key;
  counter = count;
  if (key_) tell_key(What::store_granted);
}

}  // namespace holdfast::lab::exhibits
