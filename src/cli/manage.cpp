#include "cli/manage.hpp"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "cli/failure.hpp"
#include "cli/holders.hpp"
#include "cli/location.hpp"
#include "cli/output.hpp"
#include "cli/text.hpp"
#include "holdfast/holdfast.hpp"

namespace holdfast::cli {
namespace {

std::string who_we_are() {
  char host[256] = "?";
  ::gethostname(host, sizeof host - 1);
  const passwd* user = ::getpwuid(::getuid());
  return (user ? std::string(user->pw_name) : std::to_string(::getuid())) + "@" + host;
}

std::string named(const std::vector<Holder>& holders) {
  std::string text;
  for (const auto& holder : holders) {
    if (!text.empty()) text += ", ";
    text += holder.who + " (token " + std::to_string(holder.token.value) + ")";
  }
  return text;
}

// Asks only at a terminal, because elsewhere nobody can answer.
bool confirmed(const std::string& what) {
  if (!is_terminal(STDIN_FILENO) || !is_terminal(STDERR_FILENO)) return true;
  write_briefly(STDERR_FILENO, "holdfast: " + escaped(what + " Go on? [y/N] "));
  char line[8];
  ssize_t length = 0;
  do length = ::read(STDIN_FILENO, line, sizeof line);
  while (length < 0 && errno == EINTR);
  const std::string_view answer(line, static_cast<std::size_t>(std::max<ssize_t>(length, 0)));
  return answer == "y\n" || answer == "yes\n";
}

}  // namespace

int break_lock(const Options& options) {
  const auto store = open(locate(options).url).value();
  auto holders = store.holders(options.name).value();
  std::erase_if(holders, [](const Holder& holder) { return holder.waits; });
  if (!holders.empty()) {
    const auto revoked = store.revoke(options.name, options.force);
    if (!revoked && revoked.error().errc() != Errc::lost) throw Error(revoked.error());
    if (!revoked) holders.clear();  // the holder released it meanwhile
  }

  const auto name = "'" + options.name + "'";
  const char* deed = holders.empty() ? "nothing" : options.force ? "taken" : "revoked";
  if (!holders.empty())
    complain("break: " + who_we_are() + (options.force ? " took " : " revoked ") + name + " of " +
             named(holders));
  if (options.json) {
    JsonObject object;
    object.bytes("name", options.name).text("done", deed).array("holders", json_of(holders));
    print(object.str() + "\n");
  } else if (holders.empty()) {
    print(escaped(name + " is not held; nothing was done") + "\n");
  } else if (options.force) {
    print(escaped(name + " was taken from " + named(holders) +
                  "; the next is granted at once, though the old holder may still act: only tokens "
                  "refuse it") +
          "\n");
  } else {
    print(escaped(named(holders) + " was told to let go of " + name +
                  "; the next is granted when it has") +
          "\n");
  }
  return exit_code::ok;
}

int init(const Options& options) {
  const auto store = open(locate(options).url).value();
  if (options.as_new &&
      !confirmed(store.url() +
                 " will count as new: nothing that it may have forgotten is waited for. While it "
                 "has locks or other connections that is refused, but processes that are not "
                 "connected cannot be seen, and what they hold is granted a second time."))
    throw Failure{exit_code::declined, "declined", "nothing was done"};
  store.init(options.as_new ? Init::as_new : Init::missing).value();
  if (options.json)
    print(JsonObject().text("store", store.url()).flag("ready", true).str() + "\n");
  else
    print(escaped("ready: " + store.url()) + "\n");
  return exit_code::ok;
}

int version(const Options& options) {
  if (options.json)
    print(JsonObject().text("version", HOLDFAST_VERSION).str() + "\n");
  else
    print("holdfast " HOLDFAST_VERSION "\n");
  return exit_code::ok;
}

}  // namespace holdfast::cli
