// stores/redis/options.hpp: what a redis URL says.
//
//   redis://[user:password@]host[:port][/database]       rediss:// with TLS
//   redis+unix:/path/to/socket[?db=N]
//   redis+sentinel://h1,h2,h3/NAME[/database]             the master NAME, as the sentinels know it
//   redis+cluster://h1,h2,h3                              some of its nodes; the others are found
//
//   ?guard=on guard_ttl=60s   grants nothing new after the server forgot (docs/stores/redis.md)
//   ?keep=1h                  how long the last number of a name outlives its last use
//   ?dialect=string           the plain key of redis-py, redsync and similar libraries
//   ?wait_replicas=N|majority|all
//   ?tls=on ca=FILE crl=FILE cert=FILE key=FILE insecure=on    for rediss, sentinel and cluster
//   ?sentinel_user= sentinel_password=                    if the sentinels have their own
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "holdfast/backend.hpp"
#include "net/place.hpp"
#include "net/tls.hpp"
#include "stores/redis/wording.hpp"

namespace holdfast::stores::redis {

enum class Topology : std::uint8_t { single, sentinel, cluster };

struct Login {
  std::string user;
  std::string password;
};

// The start of every holdfast connection's name.
inline constexpr std::string_view client_prefix = "holdfast-";

struct Options {
  static constexpr int majority = -1, all = -2;  // values of wait_replicas

  Topology topology = Topology::single;
  std::vector<net::Place> places;
  Login login;
  Login sentinel_login;
  std::string master;  // its name at the sentinels
  int database = 0;
  std::shared_ptr<net::TlsContext> tls;  // null: none
  int wait_replicas = 0;
  std::string client_name;  // unique to this open store
  Setting setting;
};

// False and a problem if the URL makes no sense.
bool read_options(const Url& url, Options& options, Problem& problem);

}  // namespace holdfast::stores::redis
