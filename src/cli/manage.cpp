#include "cli/manage.hpp"

#include <pwd.h>
#include <unistd.h>

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

}  // namespace

int break_lock(const Options& options) {
  const auto store = open(locate(options).url).value();
  auto holders = holders_of(store, options.name);
  std::erase_if(holders, [](const Holder& holder) { return holder.waits; });
  if (!holders.empty()) {
    const auto revoked = store.revoke(options.name, options.force);
    if (!revoked && revoked.error().errc() != Errc::lost) throw Error(revoked.error());
    if (!revoked) holders.clear();  // it was let go meanwhile
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
  store.init().value();
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
