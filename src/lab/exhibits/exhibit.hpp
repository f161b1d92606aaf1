// lab/exhibits/exhibit.hpp: how locks break, one way at a time, and what fixes each.
#pragma once

#include <span>
#include <string_view>

#include "lab/exhibits/stage.hpp"

namespace holdfast::lab::exhibits {

struct Exhibit {
  std::string_view name;
  std::string_view title;
  std::string_view algorithm;  // what each process does, line by line
  std::string_view story;      // what happens here
  std::string_view lesson;     // why, and what fixes it
  std::string_view next;       // the exhibit that shows the fix; "": none
  void (*play)(Stage& stage);
};

// In reading order.
std::span<const Exhibit> all();
const Exhibit* find(std::string_view name);

struct Performance {
  History history;
  draw::Cast cast;
};
Performance perform(const Exhibit& exhibit);  // the same history every time

// ── rooms ── of the exhibition, in order
std::span<const Exhibit> release_room();
std::span<const Exhibit> expiry_room();
std::span<const Exhibit> herd_room();
std::span<const Exhibit> failover_room();
std::span<const Exhibit> redlock_room();
std::span<const Exhibit> session_room();
std::span<const Exhibit> row_room();

}  // namespace holdfast::lab::exhibits
