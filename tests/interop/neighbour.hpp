// tests/interop/neighbour.hpp: another library's lock in the same store, as a process that is
// driven by lines.
//
//   acquire NAME KIND WAIT           held NUMBER | busy (KIND: mutex, read, write; WAIT in seconds)
//   release NAME                     released
//   visit NAME KIND FOLDER ROUNDS    clean | intruder: acquires, visits a Witness, releases
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/process.hpp"

namespace holdfast::support {

inline constexpr Millis session{2'000};  // so long its locks outlive it, and ours us

// The server where we meet, and who stands in line there, whoever they are.
class Ground {
 public:
  virtual ~Ground() = default;
  virtual std::string address() const = 0;
  virtual std::string url() const = 0;
  virtual std::string name() const = 0;  // one that is a name for all
  virtual std::size_t in_line() = 0;
  virtual std::uint64_t first() = 0;  // the number of the first in line
};

struct NeighbourCase {
  std::string name;
  std::string store;
  std::string dialect;
  std::string kind;
  std::vector<std::string> command;  // then the address, and the session in milliseconds
  std::unique_ptr<Ground> (*ground)();
};
inline void PrintTo(const NeighbourCase& row, std::ostream* out) { *out << row.name; }
std::vector<NeighbourCase> neighbour_cases();  // those whose store was built

class Neighbour : public Process {
 public:
  Neighbour(const NeighbourCase& row, const Ground& ground);
  bool ready();  // false: it could not be installed

  void start_acquire(const std::string& kind, Millis wait = patient);
  std::uint64_t acquired();  // its own number; throws if it is busy
  std::uint64_t acquire() {
    start_acquire(kind_);
    return acquired();
  }
  bool busy(Millis wait);
  void release();
  void start_visits(const std::string& folder, int rounds);

 private:
  std::string kind_;
  std::string name_;
};

}  // namespace holdfast::support
