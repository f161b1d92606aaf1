#include "cli/location.hpp"

#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "cli/failure.hpp"
#include "cli/text.hpp"

namespace holdfast::cli {
namespace {

constexpr std::string_view sqlite = "sqlite:";

struct UrlOption {
  std::string name;        // decoded
  std::string_view value;  // not decoded
};

std::vector<UrlOption> options_in(std::string_view url) {
  std::vector<UrlOption> options;
  for (auto mark = url.find('?'); mark != url.npos; mark = url.find('&', mark + 1)) {
    const auto option = url.substr(mark + 1, url.find('&', mark + 1) - mark - 1);
    const auto equals = option.find('=');
    if (equals != option.npos)
      options.push_back(
          {percent_decoded(option.substr(0, equals)).value_or(""), option.substr(equals + 1)});
  }
  return options;
}

// The secrets in a URL: the password of scheme://user:password@…, and the values of options with
// "pass" in their name (sentinel_password=…).
std::vector<std::string_view> secrets_in(std::string_view url) {
  std::vector<std::string_view> secrets;
  const auto authority = url.find("://");
  if (authority == url.npos) return secrets;
  const auto begin = authority + 3;
  const auto end = std::min(url.find_first_of("/?", begin), url.size());
  const auto at = url.substr(0, end).rfind('@');
  const auto colon = url.find(':', begin);
  if (at != url.npos && colon < at) secrets.push_back(url.substr(colon + 1, at - colon - 1));

  for (const auto& [name, value] : options_in(url))
    if (name.find("pass") != name.npos) secrets.push_back(value);
  return secrets;
}

std::string without_password(std::string_view url) {
  std::string bare;
  std::size_t copied = 0;
  for (const auto secret : secrets_in(url)) {
    const auto at = static_cast<std::size_t>(secret.data() - url.data());
    bare += url.substr(copied, at - copied);
    if (bare.back() == ':') bare.pop_back();  // user:password
    copied = at + secret.size();
  }
  return bare.append(url.substr(copied));
}

// The command may change its working folder, so a relative file is resolved against ours now.
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
    return {url, same ? inherited : without_password(url)};
  }
  if (inherited) return {absolute(inherited), inherited};
  const auto url = default_url();
  return {url, url};
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

bool has_password(std::string_view url) { return !secrets_in(url).empty(); }

bool is_insecure(std::string_view url) {
  return std::ranges::any_of(options_in(url), [](const UrlOption& option) {
    return option.name == "insecure" && percent_decoded(option.value) == "on";
  });
}

void conceal_password(std::span<char*> arguments) {
  for (char* argument : arguments) {
    if (std::strcmp(argument, "--") == 0) return;
    for (const auto secret : secrets_in(argument))
      std::memset(argument + (secret.data() - argument), '*', secret.size());
  }
}

}  // namespace holdfast::cli
