#include "lab/exhibits/exhibit.hpp"

namespace holdfast::lab::exhibits {

std::span<const Exhibit> all() {
  static const std::vector<Exhibit> exhibits = [] {
    std::vector<Exhibit> in_order;
    for (const auto room : {release_room, expiry_room, herd_room, failover_room, redlock_room,
                            session_room, row_room})
      for (const Exhibit& exhibit : room()) in_order.push_back(exhibit);
    return in_order;
  }();
  return exhibits;
}

const Exhibit* find(std::string_view name) {
  for (const Exhibit& exhibit : all())
    if (exhibit.name == name) return &exhibit;
  return nullptr;
}

Performance perform(const Exhibit& exhibit) {
  Stage stage;
  exhibit.play(stage);
  stage.world.run(stage.end);
  stage.tell({.what = What::note, .note = "the end"});
  return {std::move(stage.world.history), std::move(stage.cast)};
}

}  // namespace holdfast::lab::exhibits
