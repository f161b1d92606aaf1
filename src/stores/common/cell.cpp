#include "stores/common/cell.hpp"

#include <chrono>

namespace holdfast::stores {
namespace {

Cell refuse(const std::optional<CellState>& state, const char* reason, const char* text) {
  Cell cell = get(state);
  cell.said = Said::no;
  cell.problem = {Errc::busy, reason, text};
  return cell;
}

void changed(CellState& state, Millis expiry, bool window, std::int64_t now_us) {
  ++state.version;
  if (window && expiry > Millis(0) && state.expires_us != 0) return;
  state.expiry = expiry;
  state.expires_us = expiry > Millis(0) ? now_us + std::chrono::microseconds(expiry).count() : 0;
}

}  // namespace

Cell add(const Add& add, std::optional<CellState>& state, std::int64_t now_us,
         std::uint64_t first_version) {
  std::int64_t sum = 0;
  const bool overflows = __builtin_add_overflow(state ? state->number : 0, add.by, &sum);
  if (overflows || sum < add.least || sum > add.most)
    return refuse(state, "bounds", "the result would be out of bounds");
  if (!state) state = CellState{.version = first_version - 1};
  state->number = sum;
  changed(*state, add.expiry, add.window, now_us);
  return get(state);
}

Cell swap(const Swap& swap, std::optional<CellState>& state, std::int64_t now_us,
          std::uint64_t first_version) {
  if (swap.if_version != (state ? state->version : 0))
    return refuse(state, "changed", "another version is there");
  if (!state) state = CellState{.version = first_version - 1};
  state->bytes = swap.bytes;
  changed(*state, swap.expiry, false, now_us);
  return get(state);
}

Cell get(const std::optional<CellState>& state) {
  Cell cell;
  cell.said = Said::yes;
  if (!state) return cell;
  cell.number = state->number;
  cell.version = state->version;
  cell.bytes = state->bytes;
  return cell;
}

}  // namespace holdfast::stores
