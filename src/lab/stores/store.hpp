// lab/stores/store.hpp: a whole simulated store: it gives each process its own backend, and suffers
// the plan's faults.
#pragma once

#include "lab/scene.hpp"

namespace holdfast::lab {

class Store {
 public:
  virtual ~Store() = default;
  virtual const Traits& traits() const noexcept = 0;
  // For one life of a process; `hints` outlive the backend.
  virtual std::unique_ptr<Backend> connect(Process& process, Hints& hints) = 0;
  virtual void suffer(const Fault& fault) = 0;
  virtual void calm() = 0;  // everything heals
};

std::unique_ptr<Store> make_store(Scene& scene);

}  // namespace holdfast::lab
