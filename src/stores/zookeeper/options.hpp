// stores/zookeeper/options.hpp: what a zookeeper URL says.
//
//   zookeeper://[user:password@]h1[:port],h2,h3[/chroot]
//
//   ?session=15s            how long a session outlives its client: the ttl of all leases
//   ?tick=2s                the servers' tickTime: a session may expire one tick early
//   ?acl=open|creator       who may change our nodes: anybody, or only the user who made them
//   ?dialect=curator|kazoo  the nodes of Curator's and kazoo's locks
#pragma once

#include <string>

#include "holdfast/backend.hpp"

namespace holdfast::stores::zookeeper {

enum class Dialect : std::uint8_t { own, curator, kazoo };

struct Options {
  std::string servers{};  // "h1:2181,h2:2181"
  std::string login{};    // "user:password", or empty
  std::string chroot{};   // "/a/b", or empty
  Millis session{15'000};
  Millis tick{2'000};
  bool creator_only = false;
  Dialect dialect = Dialect::own;
};

// False and a problem if the URL makes no sense.
bool read_options(const Url& url, Options& options, Problem& problem);

}  // namespace holdfast::stores::zookeeper
