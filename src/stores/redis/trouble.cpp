#include "stores/redis/trouble.hpp"

#include <algorithm>
#include <charconv>

#include "core/text.hpp"
#include "stores/redis/keys.hpp"

namespace holdfast::stores::redis {
namespace {

struct Row {
  std::string_view word;  // how the error begins; words with a space may follow ERR
  Refusal refusal;
  Errc errc;
  std::string_view reason;
  std::string_view text;
};

constexpr std::string_view rights_of_scripts =
    "the user may not run a command that our scripts need: TIME EXISTS DEL GET SET PTTL PEXPIRE "
    "PERSIST HGET HMGET HGETALL HKEYS HSET HDEL HINCRBY PUBLISH";

constexpr Row rows[] = {
    {"NOSCRIPT", Refusal::no_script, Errc::unavailable, "no_script",
     "the server does not keep our scripts"},
    {"BUSY", Refusal::busy_script, Errc::unavailable, "busy_script",
     "the server is busy with somebody's script; wait, or end that with SCRIPT KILL"},
    {"LOADING", Refusal::loading, Errc::unavailable, "loading",
     "the server is still loading its data; try later"},
    {"MASTERDOWN", Refusal::loading, Errc::unavailable, "master_down",
     "the server is a replica that has lost its master; try later"},
    {"READONLY", Refusal::read_only, Errc::unavailable, "read_only",
     "the server is a replica, which takes no writes; name its master, or use redis+sentinel://"},
    {"MOVED", Refusal::moved, Errc::unavailable, "moved",
     "the server is a node of a Cluster, and another has this name; use redis+cluster://"},
    {"ASK", Refusal::ask, Errc::unavailable, "moved",
     "the server is a node of a Cluster, and another has this name; use redis+cluster://"},
    {"TRYAGAIN", Refusal::try_again, Errc::unavailable, "try_again",
     "the names of this batch are moving to another node; try later"},
    {"CLUSTERDOWN", Refusal::try_again, Errc::unavailable, "cluster_down",
     "the Cluster does not serve this name now; look at CLUSTER INFO"},
    {"MISCONF", Refusal::other, Errc::unavailable, "misconf",
     "the server takes no writes because it cannot save its data; look at its log"},
    {"OOM", Refusal::other, Errc::unavailable, "out_of_memory",
     "the server has no memory left for writes; raise maxmemory or make room"},
    {"NOREPLICAS", Refusal::other, Errc::unavailable, "no_replicas",
     "the server takes no writes without more replicas (min-replicas-to-write)"},
    {"WRONGTYPE", Refusal::other, Errc::busy, "foreign",
     "the key of this name is something else than ours; it was left alone"},
    {"NOAUTH", Refusal::other, Errc::denied, "authentication",
     "the server wants a password; put it into the URL"},
    {"WRONGPASS", Refusal::other, Errc::denied, "authentication",
     "the server refused the user or password"},
    {"NOPERM", Refusal::other, Errc::denied, "permission",
     "the user lacks a right on the server; give it by ACL SETUSER"},
    {"The user executing the script can't", Refusal::other, Errc::denied, "permission",
     rights_of_scripts},
    {"ACL failure in script", Refusal::other, Errc::denied, "permission",  // Redis 7.2, Valkey
     rights_of_scripts},
    {"DENIED", Refusal::other, Errc::denied, "protected_mode",
     "the server is in protected mode and admits only its own machine"},
    {"max number of clients", Refusal::other, Errc::unavailable, "max_clients",
     "the server has as many clients as it admits; raise maxclients"},
    {"invalid password", Refusal::other, Errc::denied, "authentication",
     "the server refused the user or password"},
    {"Client sent AUTH, but no password is set", Refusal::other, Errc::denied, "authentication",
     "the URL has a password, but the server knows none"},
    {"AUTH <password> called without", Refusal::other, Errc::denied, "authentication",
     "the URL has a password, but the server knows none"},
};

constexpr Row unknown{"", Refusal::other, Errc::unavailable, "server_error",
                      "the server answered with an error"};

bool begins_with(std::string_view text, std::string_view word) {
  constexpr std::string_view plain = "ERR ";
  if (word.find(' ') != word.npos)
    return text.substr(text.starts_with(plain) ? plain.size() : 0).starts_with(word);
  return text.starts_with(word) &&
         (text.size() == word.size() || text[word.size()] == ' ' || text[word.size()] == ':');
}

// Redis before 7 wraps the error that ended a script: "ERR Error running script (call to f_…):
// @user_script:1: WRONGTYPE Operation …", or, with a dash, "…: -OOM command not allowed …". An
// error that a script caught and returned begins with "@user_script".
std::string_view unwrapped(std::string_view text) {
  constexpr std::string_view wrap = "ERR Error running script", where = "@user_script:";
  if (!text.starts_with(wrap) && !text.starts_with(where)) return text;
  const std::size_t at = text.rfind(where);
  if (at == std::string_view::npos) return text;
  const std::size_t colon = text.find(": ", at + where.size());
  if (colon == std::string_view::npos) return text;
  std::string_view inner = text.substr(colon + 2);
  if (inner.starts_with('-')) inner.remove_prefix(1);
  return inner;
}

const Row& row_of(const Reply& error) {
  const std::string_view text = unwrapped(error.text);
  const auto* const row = std::find_if(std::begin(rows), std::end(rows), [&](const Row& each) {
    return begins_with(text, each.word);
  });
  return row == std::end(rows) ? unknown : *row;
}

template <class Number>
bool to_number(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

Refusal refusal_of(const Reply& error) noexcept { return row_of(error).refusal; }

bool elsewhere_of(const Reply& error, Elsewhere& elsewhere) {
  const std::string_view text = unwrapped(error.text);
  const std::size_t first = text.find(' ');
  const std::size_t second = text.find(' ', first + 1);
  const std::size_t colon = text.rfind(':');  // the last, because IPv6 addresses contain others
  if (first == std::string_view::npos || second == std::string_view::npos ||
      colon == std::string_view::npos || colon < second)
    return false;
  // The name of the node may follow the address: "MOVED 1 127.0.0.1:6381 …".
  const std::size_t end = std::min(text.find(' ', colon), text.size());
  elsewhere.host = text.substr(second + 1, colon - second - 1);
  return to_number(text.substr(first + 1, second - first - 1), elsewhere.slot) &&
         elsewhere.slot < slots &&
         to_number(text.substr(colon + 1, end - colon - 1), elsewhere.port);
}

Problem problem_of(const Reply& error) {
  const Row& row = row_of(error);
  return {row.errc, std::string(row.reason),
          std::string(row.text) + " (" + core::escaped(unwrapped(error.text)) + ")"};
}

Problem login_problem_of(const Reply& error) {
  const Row& row = row_of(error);
  const char* const whereto = &row == &unknown ? " to AUTH" : "";
  return {row.errc, std::string(row.reason), std::string(row.text) + whereto};
}

Problem protocol_problem() {
  return {Errc::corrupt, "protocol",
          "the server's answer is not what our script gives; is it Redis, and its data ours?"};
}

}  // namespace holdfast::stores::redis
