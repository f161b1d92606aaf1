// lab/chance.hpp: all randomness in the laboratory comes from one seed.
//
// Rules that keep a seed's story the same everywhere: never two draws in the arguments of one call
// (the compiler chooses their order), no distributions from the standard library, no iteration over
// an unordered container.
#pragma once

#include <cstdint>

#include "core/terms.hpp"

namespace holdfast::lab {

class Chance final : public core::Entropy {
 public:
  explicit Chance(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t draw() noexcept override {  // splitmix64
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  // Less than `bound`; the bias of the remainder does not matter here.
  std::uint64_t below(std::uint64_t bound) noexcept { return bound == 0 ? 0 : draw() % bound; }
  bool percent(unsigned odds) noexcept { return below(100) < odds; }
  core::Nanos up_to(core::Nanos most) noexcept {
    return core::Nanos(
        static_cast<std::int64_t>(below(static_cast<std::uint64_t>(most.count()) + 1)));
  }
  core::Nanos between(core::Nanos least, core::Nanos most) noexcept {
    return least + up_to(most - least);
  }
  // A separate source, so that one part's draws do not change another part's story.
  Chance fork() noexcept { return Chance(draw()); }

 private:
  std::uint64_t state_;
};

}  // namespace holdfast::lab
