// lab/check/sweep.hpp: finds when too much was held at once.
#pragma once

#include "lab/check/account.hpp"

namespace holdfast::lab {

struct Held {
  std::int64_t begin = 0, end = not_yet;
  const Acquire* lease = nullptr;
};

struct Crowd {
  const Acquire* newcomer = nullptr;
  const Acquire* other = nullptr;
  std::uint64_t weight = 0;
  std::int64_t at = 0;
};

// The moments at which a newcomer made it more than fits. At equal times, an end counts before a
// begin.
std::vector<Crowd> crowds(std::vector<Held> held);

}  // namespace holdfast::lab
