// lab/resource.hpp: what the locks protect: for each lock one register that checks tokens and one
// that does not. Writes travel as slowly as any message.
#pragma once

#include "lab/leases.hpp"

namespace holdfast::lab {

class Resource {
 public:
  Resource(World& world, std::size_t locks)
      : world_(world), chance_(world.chance.fork()), newest_(locks, 0) {}

  void write(const Op& op, Token token);

 private:
  void arrive(const Op& op, Token token);

  World& world_;
  Chance chance_;
  std::vector<std::uint64_t> newest_;  // token that the checking register has seen
};

}  // namespace holdfast::lab
