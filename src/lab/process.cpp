#include "lab/process.hpp"

#include "lab/shop.hpp"

namespace holdfast::lab {

Process::Process(Scene& scene, std::int16_t number)
    : Machine(scene.world),
      scene_(scene),
      number_(number),
      entropy_(scene.world.chance.fork()),
      desk_(scene, *this) {
  set_rate(scene.plan.rates[static_cast<std::size_t>(number)]);
}

Process::~Process() = default;

Hints* Process::hints() noexcept { return shop_.get(); }

void Process::begin() {
  revive();
  shop_ = std::make_unique<Shop>(scene_, *this);
  shop_->open();
}

void Process::crash(Nanos for_how_long) {
  if (!alive()) return;
  scene_.tell(What::crash, number_);
  scene_.leases.end_all(number_);
  die();
  shop_.reset();
  traps_.clear();
  world().after(for_how_long, [this] {
    if (alive()) return;
    scene_.tell(What::restart, number_);
    begin();
  });
}

// Between two pauses a process runs long enough to notice the first.
void Process::stand_still(Nanos for_how_long) {
  constexpr Nanos breath = Millis(5);
  if (!alive() || paused() || world().now() < resumed_ + breath) return;
  pause();
  scene_.tell(What::pause, number_);
  world().after(for_how_long, [this, which = ++pauses_] {
    if (!paused() || which != pauses_) return;
    go_on();
  });
}

void Process::go_on() {
  resumed_ = world().now();
  scene_.tell(What::resume, number_);
  resume();
}

void Process::stand_still_at(Where where, Nanos for_how_long) {
  if (where == Where::anywhere) return stand_still(for_how_long);
  if (alive()) traps_.push_back({where, for_how_long});
}

void Process::reach(Where where) {
  for (auto trap = traps_.begin(); trap != traps_.end(); ++trap) {
    if (trap->where != where || paused()) continue;
    const Nanos length = trap->length;
    traps_.erase(trap);
    return stand_still(length);
  }
}

void Process::drift(std::int64_t parts_per_million) {
  set_rate(parts_per_million);
  if (shop_) shop_->arm();
}

void Process::calm() {
  traps_.clear();
  if (paused()) go_on();
}

}  // namespace holdfast::lab
