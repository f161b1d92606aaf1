// stores/etcd/line.hpp: who of a line is in. Pure.
//
// The live claims of a name stand in the order of their create revisions. A claim is granted if the
// weights of all up to and including it fit the capacity; so the granted are always the first ones,
// and a claim that was granted stays so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "holdfast/backend.hpp"

namespace holdfast::stores::etcd {

struct Standing {
  std::string key{};
  Kind kind{};
  std::uint32_t capacity = 1;
  std::uint32_t weight = 1;
  bool revoked = false;  // its holder was told to let go
  std::string about{};
  std::int64_t created = 0;   // its create revision: its place, and its number
  std::int64_t modified = 0;  // its mod revision
  std::int64_t lease = 0;
};
using Line = std::vector<Standing>;  // in order

// How many of the first are granted.
std::size_t granted(const Line& line) noexcept;

// What the one at `place`, which is not granted, must hear of to know that it may be.
struct Ahead {
  enum class What : std::uint8_t {
    one,   // that one: it ends, or changes
    ends,  // the end of any
  };
  What what{};
  std::size_t place = 0;  // of that one
};
Ahead ahead_of(const Line& line, std::size_t place) noexcept;

// Whether a claim that comes to be granted must change its key, so that the one behind it looks.
bool wakes_next(const Line& line, std::size_t place) noexcept;

// errc 0 if the one at `place` is of the kind that the name is in use as.
Problem misfit(const Line& line, std::size_t place);

}  // namespace holdfast::stores::etcd
