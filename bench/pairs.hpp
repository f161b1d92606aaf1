// Takes a free lock and gives it back, again and again.
#pragma once

#include "measure.hpp"

namespace bench {

template <class Pair>
double pairs_a_second(double span, Pair&& pair) {
  int pairs = 0;
  const auto end = Clock::now() + std::chrono::duration<double>(span);
  const double seconds = seconds_of([&] {
    for (; Clock::now() < end; ++pairs) pair();
  });
  return pairs / seconds;
}

}  // namespace bench
