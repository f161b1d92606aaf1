// stores/redis/options.hpp: what a redis URL says.
//
//   redis://[user:password@]host[:port][/database]       rediss:// with TLS
//   redis+unix:/path/to/socket[?db=N]
//   redis+sentinel://h1,h2,h3/NAME[/database]             the master NAME, as the sentinels know it
//   redis+cluster://h1,h2,h3                              any nodes of it; the rest is found
//
//   ?guard=on guard_ttl=60s   nothing new is granted after the server forgot (docs/stores/redis.md)
//   ?keep=1h                  a name, with its last number, after all that was of it has ended
//   ?dialect=string           the plain key of redis-py, redsync and their like
//   ?wait_replicas=N|majority|all
//   ?tls=on ca=FILE crl=FILE cert=FILE key=FILE insecure=on    for rediss, sentinel and cluster
//   ?sentinel_user= sentinel_password=                    where the sentinels have their own
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

// How the name of every connection of holdfast begins.
inline constexpr std::string_view client_prefix = "holdfast-";

struct Options {
  static constexpr int majority = -1, all = -2;  // of wait_replicas

  Topology topology = Topology::single;
  std::vector<net::Place> places;
  Login login;
  Login sentinel_login;
  std::string master;  // the sentinels' name of it
  int database = 0;
  std::shared_ptr<net::TlsContext> tls;  // null: none
  int wait_replicas = 0;
  std::string client_name;  // of this open store alone
  Setting setting;
};

// False and a problem if the URL makes no sense.
bool read_options(const Url& url, Options& options, Problem& problem);

}  // namespace holdfast::stores::redis
