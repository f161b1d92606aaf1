#include "cli/location.hpp"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "cli/failure.hpp"
#include "cli/text.hpp"

namespace holdfast::cli {
namespace {

constexpr std::string_view sqlite = "sqlite:";

// The password of scheme://user:password@…, with the colon before it; empty: there is none.
std::string_view password_in(std::string_view url) {
  const auto authority = url.find("://");
  if (authority == url.npos) return {};
  const auto begin = authority + 3;
  const auto end = std::min(url.find_first_of("/?", begin), url.size());
  const auto at = url.substr(0, end).rfind('@');
  if (at == url.npos || at < begin) return {};
  const auto colon = url.find(':', begin);
  return colon < at ? url.substr(colon, at - colon) : std::string_view{};
}

std::string without_password(std::string_view url) {
  const auto password = password_in(url);
  if (password.empty()) return std::string(url);
  const auto at = static_cast<std::size_t>(password.data() - url.data());
  return std::string(url.substr(0, at)).append(url.substr(at + password.size()));
}

// The command may change its folder, so a relative file is pinned to ours.
std::string absolute(std::string_view url) {
  if (!url.starts_with(sqlite)) return std::string(url);
  const auto file = url.substr(sqlite.size());
  if (file.empty() || file[0] == '/' || file[0] == '?') return std::string(url);
  char folder[PATH_MAX];
  if (!::getcwd(folder, sizeof folder)) return std::string(url);
  return std::string(sqlite) + percent_encoded(folder, "/") + "/" + std::string(file);
}

const char* environment(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? value : nullptr;
}

std::string default_url() {
  const char* state = environment("XDG_STATE_HOME");
  const char* home = environment("HOME");
  std::string folder;
  if (state && *state == '/')
    folder = state;
  else if (home && *home == '/')
    folder = std::string(home) + "/.local/state";
  else
    throw bad_configuration(
        "no store is given and HOME is not set; write --store URL, for example --store "
        "sqlite:FILE");
  return std::string(sqlite) + percent_encoded(folder, "/") + "/holdfast/locks.db";
}

}  // namespace

Location locate(const Options& options) {
  const char* inherited = environment("HOLDFAST_STORE");
  if (options.store) {
    const auto url = absolute(*options.store);
    const bool same = inherited && *options.store == inherited;
    return {url, same ? inherited : without_password(url), !password_in(*options.store).empty()};
  }
  if (inherited) return {absolute(inherited), inherited, false};
  const auto url = default_url();
  return {url, url, false};
}

std::string identity_of(std::string_view url) {
  auto known = absolute(without_password(url));
  if (!known.starts_with(sqlite)) return known;
  const auto mark = std::min(known.find('?'), known.size());
  const auto file =
      percent_decoded(std::string_view(known).substr(sqlite.size(), mark - sqlite.size()));
  char real[PATH_MAX];
  if (!file || !::realpath(file->c_str(), real)) return known;
  return std::string(sqlite) + percent_encoded(real, "/") + known.substr(mark);
}

void conceal_password(std::span<char*> arguments) {
  for (char* argument : arguments) {
    if (std::strcmp(argument, "--") == 0) return;
    const auto password = password_in(argument);
    if (!password.empty())
      std::memset(argument + (password.data() - argument) + 1, '*', password.size() - 1);
  }
}

}  // namespace holdfast::cli
