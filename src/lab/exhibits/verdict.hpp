// lab/exhibits/verdict.hpp: the outcome of an exhibit, read from its history alone.
#pragma once

#include "lab/draw/picture.hpp"

namespace holdfast::lab::exhibits {

struct Finding {
  enum class Kind : std::uint8_t {
    two_holders,  // `first` and `second` from `at` to `until`
    old_write,    // `first` wrote at `at`, after `second` had written with a newer grant
    refused,      // … and the resource refused it
    locked,       // nobody will ever get in again: `first` died with a key that never expires
  };
  Kind kind{};
  std::int64_t at = 0, until = 0;
  std::int16_t first = nobody, second = nobody;
  std::uint64_t token = 0, newer = 0;
};

enum class Outcome : std::uint8_t {
  clean,      // one after the other
  contained,  // two at once, but the resource refused the one that came too late
  broken,
};
std::string_view to_string(Outcome outcome) noexcept;

struct Verdict {
  Outcome outcome{};
  std::vector<Finding> findings;  // sorted by time
  std::uint64_t grants = 0;
  std::uint64_t commands = 0;  // to the stores

  std::string text(const draw::Cast& cast) const;  // in one sentence
  std::vector<draw::Mark> marks(const draw::Cast& cast) const;
};
Verdict judge(const History& history);

}  // namespace holdfast::lab::exhibits
