#include "lab/stores/store.hpp"

#include "lab/stores/consensus.hpp"
#include "lab/stores/site.hpp"

namespace holdfast::lab {

std::unique_ptr<Store> make_store(Scene& scene) {
  if (scene.plan.store.shape == Shape::consensus) return std::make_unique<Consensus>(scene);
  return std::make_unique<Site>(scene);
}

}  // namespace holdfast::lab
