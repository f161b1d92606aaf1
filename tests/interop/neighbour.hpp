// tests/interop/neighbour.hpp: another library's lock in the same store, as a process that is
// driven by lines.
//
//   acquire NAME KIND WAIT           held NUMBER | busy (KIND: mutex, read, write; WAIT in seconds)
//   release NAME                     released
//   visit NAME KIND FOLDER ROUNDS    clean | intruder: acquires, visits a Witness, releases
//
// Servers and neighbours take long to start, so all cases share them; each uses a name of its own.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "support/process.hpp"

namespace holdfast::support {

inline constexpr Millis session{20'000};  // how long the locks of a dead process remain

// The server where both meet, and a look at the line there.
class Ground {
 public:
  virtual ~Ground() = default;
  virtual std::string address() const = 0;
  virtual std::string url() const = 0;
  virtual std::string name(int of_case) const = 0;  // a name that all libraries accept
  virtual std::size_t in_line(const std::string& name) const = 0;
  virtual std::uint64_t first(
      const std::string& name) const = 0;  // the number of the first in line
  // Ends its session or lease, as would happen a while after its death.
  virtual void end_first(const std::string& name) const = 0;
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

  // Sets the lock that the calls below mean.
  void meet(std::string name, std::string kind);
  void start_acquire() { start_acquire(kind_); }
  void start_acquire(const std::string& kind, Millis wait = patient);
  std::uint64_t acquired();  // its own number; throws if it is busy
  std::uint64_t acquire() {
    start_acquire();
    return acquired();
  }
  void start_brief_acquire() { start_acquire(kind_, Millis(1'000)); }
  bool busy() { return read() == "busy"; }
  void release();
  void start_visits(const std::string& folder, int rounds);

 private:
  std::string kind_;
  std::string name_;
};

// The grounds and neighbours of a process. Only one case at a time uses a neighbour.
class Neighbourhood {
 public:
  const Ground& ground(const NeighbourCase& row);
  // Null if it could not be installed.
  Neighbour* neighbour(const NeighbourCase& row, std::size_t nth);
  void forget(const NeighbourCase& row);  // they cannot be trusted any more

 private:
  using Neighbours = std::map<std::size_t, std::unique_ptr<Neighbour>>;
  std::map<std::string, std::unique_ptr<Ground>> grounds_;     // by store
  std::map<std::vector<std::string>, Neighbours> neighbours_;  // by command
};

}  // namespace holdfast::support
