// stores/common/cell.hpp: how a change changes a cell, for stores that keep its parts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "holdfast/backend.hpp"

namespace holdfast::stores {

struct CellState {
  std::int64_t number = 0;
  std::uint64_t version = 0;
  std::string bytes{};
  Millis expiry{0};
  std::int64_t expires_us = 0;  // 0: never

  bool expired(std::int64_t now_us) const noexcept {
    return expires_us != 0 && expires_us <= now_us;
  }
};

// `state` is empty if the cell does not exist or has expired; it changes only if the answer is yes.
// A cell that is created gets `first_version`. That name must never have had it before, so that a
// version from the cell's previous life does not match by accident.
Cell add(const Add& add, std::optional<CellState>& state, std::int64_t now_us,
         std::uint64_t first_version);
Cell swap(const Swap& swap, std::optional<CellState>& state, std::int64_t now_us,
          std::uint64_t first_version);
Cell get(const std::optional<CellState>& state);

}  // namespace holdfast::stores
