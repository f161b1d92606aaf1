#include "stores/memory/world.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/forks.hpp"
#include "stores/common/clock.hpp"

namespace holdfast::stores {
namespace {

// The doors whose tell() this thread is in, innermost first.
struct Visit {
  const Door* door;
  const Visit* outer;
};
thread_local const Visit* innermost = nullptr;

struct Worlds {
  std::mutex mutex;
  std::map<std::string, std::unique_ptr<World>, std::less<>> by_name;
};

}  // namespace

void Door::tell(std::string_view name, const core::Notice& notice, std::int64_t store_us) noexcept {
  {
    std::lock_guard lock(mutex_);
    if (closed_) return;
    ++inside_;
  }
  const Visit visit{this, innermost};
  innermost = &visit;
  if (notice.what == core::Notice::What::gone) {
    hints_.gone(name, notice.claim);
  } else {
    Answer answer;
    answer.said = Said::yes;
    answer.number = notice.number;
    answer.ttl = notice.ttl;
    answer.store_us = store_us;
    hints_.granted(name, notice.claim, answer);
  }
  innermost = visit.outer;
  std::lock_guard lock(mutex_);
  --inside_;
  left_.notify_all();
}

void Door::close() noexcept {
  std::size_t mine = 0;
  for (const Visit* visit = innermost; visit; visit = visit->outer) mine += visit->door == this;
  std::unique_lock lock(mutex_);
  closed_ = true;
  left_.wait(lock, [&] { return inside_ <= mine; });
}

World& World::named(std::string_view name) {
  Worlds& worlds = detail::per_process<Worlds>();
  std::lock_guard lock(worlds.mutex);
  auto at = worlds.by_name.find(name);
  if (at == worlds.by_name.end())
    at = worlds.by_name.emplace(std::string(name), std::make_unique<World>()).first;
  return *at->second;
}

core::Party World::enter(std::shared_ptr<Door> door) {
  std::lock_guard lock(doors_mutex_);
  doors_.emplace(++last_door_, std::move(door));
  return {.place = 0, .nonce = last_door_};
}

void World::leave(const core::Party& party) {
  std::lock_guard lock(doors_mutex_);
  doors_.erase(party.nonce);
}

void World::tell(std::string_view name, const core::Notices& notices, std::int64_t store_us) {
  for (const core::Notice& notice : notices) {
    std::shared_ptr<Door> door;
    {
      std::lock_guard lock(doors_mutex_);
      if (const auto at = doors_.find(notice.party.nonce); at != doors_.end()) door = at->second;
    }
    if (door) door->tell(name, notice, store_us);
  }
}

core::Admission& World::Shard::line(std::string_view name) {
  if (const auto at = lines.find(name); at != lines.end()) return at->second;
  if (lines.size() >= sweep_at) sweep(now_us());
  core::Admission::Head head;
  head.number = floor;
  return lines.emplace(std::string(name), core::Admission(head, {})).first->second;
}

// Names that come and go leave nothing behind. A swept name that comes back goes on above `floor`,
// and so above every number that any swept name had.
void World::Shard::sweep(std::int64_t now_us) {
  for (auto& [name, line] : lines) line.expire(now_us);
  std::erase_if(lines, [&](const auto& named) {
    if (!named.second.idle()) return false;
    floor = std::max(floor, named.second.head().number);
    return true;
  });
  sweep_at = std::max<std::size_t>(256, 2 * lines.size());
}

std::vector<Holder> World::holders(std::string_view name) {
  Shard& shard = shard_of(name);
  std::lock_guard lock(shard.mutex);
  const auto at = shard.lines.find(name);
  if (at == shard.lines.end()) return {};
  return at->second.describe(name, now_us());
}

std::vector<Holder> World::list(std::string_view prefix) {
  std::vector<Holder> all;
  for (Shard& shard : shards_) {
    std::lock_guard lock(shard.mutex);
    const std::int64_t now = now_us();
    for (const auto& [name, line] : shard.lines) {
      if (!std::string_view(name).starts_with(prefix)) continue;
      std::ranges::move(line.describe(name, now), std::back_inserter(all));
    }
  }
  std::ranges::stable_sort(all, {}, &Holder::name);
  return all;
}

}  // namespace holdfast::stores
