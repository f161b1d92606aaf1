// stores/memory/world.hpp: what all memory stores of one NAME share.
#pragma once

#include <algorithm>
#include <array>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/admission.hpp"
#include "holdfast/backend.hpp"
#include "stores/common/cell.hpp"

namespace holdfast::stores {

// Gives hints to one open store, on behalf of the others in its world. The store closes its door
// before it ends; close() waits for every tell() under way, except those on its own thread.
class Door {
 public:
  explicit Door(Hints& hints) : hints_(hints) {}
  void close() noexcept;
  void tell(std::string_view name, const core::Notice& notice, std::int64_t store_us) noexcept;

 private:
  Hints& hints_;
  std::mutex mutex_;
  std::condition_variable left_;
  std::size_t inside_ = 0;
  bool closed_ = false;
};

struct NameHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view name) const noexcept {
    return std::hash<std::string_view>()(name);
  }
};
template <class Value>
using ByName = std::unordered_map<std::string, Value, NameHash, std::equal_to<>>;

class World {
 public:
  static World& named(std::string_view name);  // lives as long as the process

  core::Party enter(std::shared_ptr<Door> door);
  void leave(const core::Party& party);
  void tell(std::string_view name, const core::Notices& notices, std::int64_t store_us);

  // Calls step(admission), one thread at a time for each name.
  template <class Step>
  Answer at(std::string_view name, Step&& step) {
    Shard& shard = shard_of(name);
    std::lock_guard lock(shard.mutex);
    core::Admission& line = shard.line(name);
    Answer answer = step(line);
    line.saved();
    return answer;
  }
  std::vector<Holder> holders(std::string_view name);
  std::vector<Holder> list(std::string_view prefix);

  // Calls change(state, first_version), one thread at a time. change() may fill an empty state,
  // which creates the cell, but must not empty a full one.
  template <class Change>
  Cell at_cell(std::string_view name, std::int64_t now_us, Change&& change);

 private:
  struct alignas(64) Shard {
    core::Admission& line(std::string_view name);
    void sweep(std::int64_t now_us);

    std::mutex mutex;
    ByName<core::Admission> lines;
    std::size_t sweep_at = 256;
    std::uint64_t floor = 0;  // the highest number that a swept name had
  };
  Shard& shard_of(std::string_view name) { return shards_[NameHash()(name) % shards_.size()]; }

  std::array<Shard, 16> shards_;

  std::mutex cells_mutex_;
  ByName<CellState> cells_;
  std::size_t sweep_cells_at_ = 256;
  std::uint64_t last_version_ = 0;

  std::mutex doors_mutex_;
  std::unordered_map<std::uint64_t, std::shared_ptr<Door>> doors_;
  std::uint64_t last_door_ = 0;
};

template <class Change>
Cell World::at_cell(std::string_view name, std::int64_t now_us, Change&& change) {
  std::lock_guard lock(cells_mutex_);
  auto at = cells_.find(name);
  if (at != cells_.end() && at->second.expired(now_us)) {
    cells_.erase(at);
    at = cells_.end();
  }
  std::optional<CellState> state;
  if (at != cells_.end()) state = at->second;
  // Above every version that any cell ever had, so a cell that is created again repeats none.
  Cell cell = change(state, ++last_version_);
  if (state) last_version_ = std::max(last_version_, state->version);
  if (at != cells_.end()) {
    at->second = std::move(*state);
  } else if (state) {
    if (cells_.size() >= sweep_cells_at_) {
      std::erase_if(cells_, [&](const auto& kept) { return kept.second.expired(now_us); });
      sweep_cells_at_ = std::max<std::size_t>(256, 2 * cells_.size());
    }
    cells_.emplace(name, std::move(*state));
  }
  return cell;
}

}  // namespace holdfast::stores
