// lab/scene.hpp: everything that takes part in one story.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lab/leases.hpp"
#include "lab/network.hpp"
#include "lab/resource.hpp"

namespace holdfast::lab {

class Process;
class Store;

struct Scene {
  Scene(const Plan& of, bool wire_recorded);
  ~Scene();

  const Plan& plan;
  World world;
  Network network;
  Leases leases;
  Resource resource;
  std::vector<std::string> names;  // of the locks
  std::unique_ptr<Store> store;
  std::vector<std::unique_ptr<Process>> processes;
  std::uint64_t last_op = 0;
  bool calm = false;

  Process& process(std::int16_t number) { return *processes[static_cast<std::size_t>(number)]; }
  std::uint16_t lock_named(std::string_view name) const noexcept;
  void tell(What what, std::int16_t process, std::int16_t node = nobody, const char* note = "");
};

}  // namespace holdfast::lab
