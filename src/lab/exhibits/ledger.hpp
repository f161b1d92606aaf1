// lab/exhibits/ledger.hpp: the resource that the lock protects.
#pragma once

#include "lab/exhibits/talk.hpp"

namespace holdfast::lab::exhibits {

enum class Fence : bool { off, on };  // on: it refuses a token older than the newest it saw

class Ledger : public Node {
 public:
  Ledger(Stage& on, std::int16_t as, Fence fence) : Node(on, as), fence_(fence) {}

  Request write(Actor& self, std::uint64_t token = 0);
  // Draws a number for processes whose lock gives no token. A later holder gets a higher number.
  Request draw();
  Fence fence() const noexcept { return fence_; }

 private:
  Answer judge(const Actor& self, std::uint64_t token);

  Fence fence_;
  std::uint64_t newest_ = 0;
  std::uint64_t drawn_ = 32;
};

}  // namespace holdfast::lab::exhibits
