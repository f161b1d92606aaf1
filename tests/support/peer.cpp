#include "support/peer.hpp"

#include <filesystem>
#include <sstream>

#include "support/own_clock.hpp"

namespace holdfast::support {
namespace {

Errc errc_of(std::string_view word) {
  for (int code = static_cast<int>(Errc::busy); code <= static_cast<int>(Errc::corrupt); ++code)
    if (to_string(static_cast<Errc>(code)) == word) return static_cast<Errc>(code);
  return Errc::unknown;
}

// All programs of a build are in one folder.
std::string peer_program() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path() / "conformance_peer";
}

std::vector<std::string> with_our_clock(std::vector<std::string> environment) {
  environment.push_back(jumps_so_far());
  return environment;
}

}  // namespace

Peer::Peer(const std::string& url, const std::vector<std::string>& environment)
    : Process({peer_program(), url}, with_our_clock(environment)) {}

void Peer::start_acquire(std::string_view name, std::string_view options) {
  send("acquire " + std::string(name) + " " + std::string(options));
}

Token Peer::acquired() {
  const auto line = read();
  std::istringstream answer(line);
  std::string word;
  Token token;
  answer >> word;
  if (word == "held" && answer >> token.value) return token;
  std::string code, reason;
  answer >> code >> reason;
  throw Error(errc_of(code), reason, "the peer says: " + line);
}

}  // namespace holdfast::support
