// tests/support/port_taken.hpp: somebody took a port that was free a moment ago.
#pragma once

#include <stdexcept>
#include <string>

namespace holdfast::support {

struct PortTaken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Servers log this before they end.
inline void throw_if_port_taken(const std::string& log) {
  for (const auto* words : {"Address already in use", "address already in use"})
    if (log.find(words) != std::string::npos) throw PortTaken(log);
}

// start() finds ports and starts servers on them; it is repeated if it throws PortTaken.
template <class Start>
void on_free_ports(const Start& start) {
  constexpr int most_tries = 20;
  for (int tries = 1;; ++tries) {
    try {
      return start();
    } catch (const PortTaken&) {
      if (tries == most_tries) throw;
    }
  }
}

}  // namespace holdfast::support
