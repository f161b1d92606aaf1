// stores/redis/trouble.hpp: what error replies mean. All of them are definite: the server wrote
// nothing, except that a batch may have changed the keys before the one that it refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "holdfast/backend.hpp"
#include "stores/redis/reply.hpp"

namespace holdfast::stores::redis {

// What the connection has to do about an error.
enum class Refusal : std::uint8_t {
  other,        // tell the caller
  no_script,    // send the text
  busy_script,  // a script of somebody else takes too long: wait
  loading,      // LOADING, or a replica that lost its master: wait
  read_only,    // a replica: find the master
  moved,        // MOVED: another node has the slot for good
  ask,          // ASK: another node has it, for this command only
  try_again,    // TRYAGAIN, CLUSTERDOWN: wait
};
Refusal refusal_of(const Reply& error) noexcept;

// Where MOVED and ASK point to: "MOVED 3999 127.0.0.1:6381". An empty host means the host that
// answered. False if the error has another form.
struct Elsewhere {
  std::uint16_t slot = 0;
  std::string host;
  std::uint16_t port = 0;
};
bool elsewhere_of(const Reply& error, Elsewhere& elsewhere);

Problem problem_of(const Reply& error);
// For an error of AUTH. Leaves out the server's words, because a server that does not know the
// command repeats the password.
Problem login_problem_of(const Reply& error);

// For a reply that none of our scripts gives.
Problem protocol_problem();

}  // namespace holdfast::stores::redis
