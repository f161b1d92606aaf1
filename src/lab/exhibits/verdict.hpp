// lab/exhibits/verdict.hpp: what became of an exhibit, read from its history alone.
#pragma once

#include "lab/draw/picture.hpp"

namespace holdfast::lab::exhibits {

struct Finding {
  enum class Kind : std::uint8_t {
    two_holders,  // `first` and `second` from `at` to `until`
    old_write,    // `first` wrote at `at` what is older than what `second` had written
    refused,      // … and the resource would not have it
    locked,       // nobody will ever get in again: `first` died with a key that has no end
  };
  Kind kind{};
  std::int64_t at = 0, until = 0;
  std::int16_t first = nobody, second = nobody;
  std::uint64_t token = 0, newer = 0;
};

enum class Outcome : std::uint8_t {
  clean,      // one after the other
  contained,  // two at once, but the resource refused whoever came too late
  broken,
};
std::string_view to_string(Outcome outcome) noexcept;

struct Verdict {
  Outcome outcome{};
  std::vector<Finding> findings;  // by time
  std::uint64_t grants = 0;
  std::uint64_t commands = 0;  // to the stores

  std::string text(const draw::Cast& cast) const;  // in one sentence
  std::vector<draw::Mark> marks(const draw::Cast& cast) const;
};
Verdict judge(const History& history);

}  // namespace holdfast::lab::exhibits
