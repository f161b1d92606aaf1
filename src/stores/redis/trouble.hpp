// stores/redis/trouble.hpp: error replies in our words. All of them are definite: the server
// refused before it wrote anything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "holdfast/backend.hpp"
#include "stores/redis/reply.hpp"

namespace holdfast::stores::redis {

// What to do about it, where the connection has to do something.
enum class Refusal : std::uint8_t {
  other,        // tell the caller
  no_script,    // send the text
  busy_script,  // another's script runs for too long: wait
  loading,      // the server is starting, or its master is: wait
  read_only,    // a replica: find the master
  moved,        // MOVED: another node has the slot for good
  ask,          // ASK: another node has it for this once
  try_again,    // TRYAGAIN, CLUSTERDOWN: wait
};
Refusal refusal_of(const Reply& error) noexcept;

// Where MOVED and ASK point to: "MOVED 3999 127.0.0.1:6381". An empty host means the one that said
// so. False: not of that form.
struct Elsewhere {
  std::uint16_t slot = 0;
  std::string host;
  std::uint16_t port = 0;
};
bool elsewhere_of(const Reply& error, Elsewhere& elsewhere);

Problem problem_of(const Reply& error);
// Of an answer to AUTH: without the server's words, for one that does not know the command repeats
// the password.
Problem login_problem_of(const Reply& error);

// A reply that none of our scripts gives.
Problem protocol_problem();

}  // namespace holdfast::stores::redis
