#include "lab/scene.hpp"

#include "lab/process.hpp"
#include "lab/shop.hpp"
#include "lab/stores/store.hpp"

namespace holdfast::lab {

Scene::Scene(const Plan& of, bool wire_recorded)
    : plan(of),
      world(of.seed),
      network(world, of, wire_recorded),
      leases(world),
      resource(world, of.locks.size()) {
  for (std::size_t i = 0; i < of.locks.size(); ++i) names.push_back("lock-" + std::to_string(i));
  store = make_store(*this);
  for (std::size_t i = 0; i < of.processes(); ++i)
    processes.push_back(std::make_unique<Process>(*this, static_cast<std::int16_t>(i)));
}

Scene::~Scene() = default;

std::uint16_t Scene::lock_named(std::string_view name) const noexcept {
  std::uint16_t number = 0;
  while (names[number] != name) ++number;
  return number;
}

void Scene::tell(What what, std::int16_t process, std::int16_t node, const char* note) {
  Event event;
  event.what = what;
  event.process = process;
  event.node = node;
  event.note = note;
  world.tell(event);
}

}  // namespace holdfast::lab
