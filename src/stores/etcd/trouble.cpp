#include "stores/etcd/trouble.hpp"

#include "core/text.hpp"

namespace holdfast::stores::etcd {
namespace {

struct Known {
  std::string_view part;  // of the text
  Verdict verdict;
  Errc errc;
  const char* reason;
  const char* text;
};

constexpr Known troubles[] = {
    {"database space exceeded", Verdict::refused, Errc::unavailable, "no_space",
     "etcd has raised its NOSPACE alarm and takes no writes: compact and defragment it, then "
     "disarm "
     "the alarm (etcdctl alarm disarm)"},
    {"lease already exists", Verdict::refused, Errc::unavailable, "lease_exists",
     "it was granted before"},
    {"requested lease not found", Verdict::refused, Errc::unavailable, "lease_gone",
     "its lease has ended"},
    {"request is too large", Verdict::refused, Errc::invalid, "too_large",
     "the request is larger than this etcd takes (--max-request-bytes)"},
    {"too many operations", Verdict::refused, Errc::unavailable, "too_large",
     "this etcd takes fewer operations in one transaction (--max-txn-ops)"},
    {"corrupt cluster", Verdict::refused, Errc::corrupt, "corrupt",
     "etcd has raised its CORRUPT alarm: its members do not agree on their data"},
    {"invalid auth token", Verdict::log_in, Errc::denied, "authentication",
     "the server takes the user for a stranger again and again"},
    {"revision of auth store is old", Verdict::log_in, Errc::denied, "authentication",
     "users and rights were changed again and again"},
    {"invalid user ID or password", Verdict::refused, Errc::denied, "authentication",
     "user or password are not right"},
    {"user name is empty", Verdict::refused, Errc::denied, "authentication",
     "the server wants a user: write etcd://USER:PASSWORD@HOST"},
    {"permission denied", Verdict::refused, Errc::denied, "permission",
     "this user may not read and write the keys of locks and cells, which begin with holdfast/"},
    {"too many requests", Verdict::unsent, Errc::unavailable, "overloaded",
     "the server has more requests than it can take"},
    {"no leader", Verdict::elsewhere, Errc::unavailable, "no_leader",
     "this member of etcd has no majority behind it"},
    {"andshake failed", Verdict::unsent, Errc::unavailable, "tls", "TLS failed"},
    {"ertificate verify failed", Verdict::unsent, Errc::unavailable, "tls",
     "the server's certificate is not trusted"},
    {"failed to connect to all addresses", Verdict::unsent, Errc::unavailable, "unreachable",
     "cannot connect"},
};

// For a text that we do not know. Unless the code rules it out, the request may have been executed.
Judged by_code(int code) {
  constexpr int invalid_argument = 3, deadline_exceeded = 4, unimplemented = 12;
  switch (code) {
    case deadline_exceeded:
      return {Verdict::elsewhere, {Errc::unavailable, "too_slow", "it did not answer in time"}};
    case invalid_argument:
      return {Verdict::refused, {Errc::invalid, "server_error", "it refused the request"}};
    case unimplemented:
      return {Verdict::refused,
              {Errc::unsupported, "server_error", "it does not speak the protocol of etcd 3"}};
    default:
      return {Verdict::elsewhere, {Errc::unavailable, "server_error", "it could not answer"}};
  }
}

}  // namespace

Judged judge(int code, std::string_view text, const std::string& address) {
  Judged judged;
  const Known* found = nullptr;
  for (const Known& each : troubles)
    if (!found && text.find(each.part) != text.npos) found = &each;
  if (found) {
    judged = {found->verdict, {found->errc, found->reason, found->text}};
  } else {
    judged = by_code(code);
  }
  std::string& says = judged.problem.text;
  says = address + ": " + says;
  const bool explained = found && judged.verdict != Verdict::unsent;
  if (!explained && !text.empty()) says += " (" + core::escaped(text, 160) + ")";
  return judged;
}

}  // namespace holdfast::stores::etcd
