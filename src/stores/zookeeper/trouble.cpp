#include "stores/zookeeper/trouble.hpp"

#include <zookeeper/zookeeper.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/text.hpp"

namespace holdfast::stores::zookeeper {

Problem problem_of(int rc, const std::string& path) {
  const std::string at = path.empty() ? "" : " at " + core::escaped(path, 200);
  switch (rc) {
    case ZNOAUTH:
      return {Errc::denied, "rights",
              "the server refuses it" + at + ": the user has no right there; see its ACL"};
    case ZAUTHFAILED: return {Errc::denied, "login", "the server refuses the user or its password"};
    case ZINVALIDACL:
      return {Errc::denied, "acl", "the server does not take the ACL; acl=creator needs a user"};
    case ZNOCHILDRENFOREPHEMERALS:
      return {Errc::invalid, "chroot", "a node above it is ephemeral and can have no children"};
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZSESSIONMOVED:
      return {Errc::unavailable, "connection", "the connection was lost before the answer came"};
    case ZSESSIONEXPIRED:
    case ZINVALIDSTATE:
      return {Errc::unavailable, "session_ended", "the session has ended; a new one is made"};
    case ZCLOSING: return closing();
    default: return {Errc::unavailable, "server", std::string("ZooKeeper: ") + zerror(rc) + at};
  }
}

Problem unreachable(const Options& options, bool had_session) {
  std::string text = "no session with a server of " + options.servers;
  if (had_session)
    text += "; if it came back empty or with a backup, a new session is made after " +
            std::to_string(options.session.count()) + " ms without a connection";
  return {Errc::unavailable, "unreachable", std::move(text)};
}

Problem went_back() {
  return {Errc::corrupt, "fencing_regressed",
          "ZooKeeper has gone back to an earlier state, as after a restored backup or an empty "
          "disk: its tokens would not grow. Give it the newer data, or start this process again if "
          "nothing checks tokens"};
}

Problem not_opened(const Options& options, int error) {
  if (error == EMFILE || error == ENFILE || error == ENOMEM || error == EAGAIN)
    return {Errc::unavailable, "resource",
            std::string("cannot start the client: ") + std::strerror(error)};
  return {Errc::unavailable, "unresolved",
          "none of " + options.servers + " could be resolved: " + std::strerror(error)};
}

Problem too_short(Millis session, const Options& options) {
  return {Errc::invalid, "session",
          "the server gives sessions of " + std::to_string(session.count()) +
              " ms only, and leases end one tick (" + std::to_string(options.tick.count()) +
              " ms) early; raise its maxSessionTimeout, or set tick= to its tickTime"};
}

Problem closing() { return {Errc::cancelled, "closed", "the store was closed"}; }

Answer refused(Said said, Problem problem) {
  Answer answer;
  answer.said = said;
  answer.problem = std::move(problem);
  return answer;
}

Answer not_held() {
  return refused(Said::gone, {Errc::lost, "not_held", "it is not held by this claim"});
}

Answer was_revoked() { return refused(Said::gone, {Errc::lost, "revoked", "it was revoked"}); }

}  // namespace holdfast::stores::zookeeper
