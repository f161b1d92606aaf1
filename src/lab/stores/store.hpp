// lab/stores/store.hpp: a simulated store as a whole, as the story sees it: it gives each process a
// backend of its own, and suffers what the plan has for it.
#pragma once

#include "lab/scene.hpp"

namespace holdfast::lab {

class Store {
 public:
  virtual ~Store() = default;
  virtual const Traits& traits() const noexcept = 0;
  // For one life of a process; its hints outlive it.
  virtual std::unique_ptr<Backend> connect(Process& process, Hints& hints) = 0;
  virtual void suffer(const Fault& fault) = 0;
  virtual void calm() = 0;  // everything heals
};

std::unique_ptr<Store> make_store(Scene& scene);

}  // namespace holdfast::lab
