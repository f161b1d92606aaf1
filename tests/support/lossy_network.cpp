#include "support/lossy_network.hpp"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <system_error>

namespace holdfast::support {
namespace {

// Runs in the namespace of this thread. Throws what nft said if it failed.
std::string nft(const std::string& command) {
  const auto line = "nft '" + command + "' 2>&1";
  FILE* pipe = ::popen(line.c_str(), "r");
  if (!pipe) throw std::system_error(errno, std::generic_category(), "popen");
  std::string said;
  char part[512];
  while (const auto length = std::fread(part, 1, sizeof part, pipe)) said.append(part, length);
  if (::pclose(pipe) != 0) throw std::runtime_error(said);
  return said;
}

void raise_loopback() {
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ifreq request{};
  std::strcpy(request.ifr_name, "lo");
  request.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &request) != 0)
    throw std::system_error(errno, std::generic_category(), "lo");
}

}  // namespace

LossyNetwork::LossyNetwork() : outside_(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)) {
  try {
    if (::unshare(CLONE_NEWNET) != 0)
      throw std::system_error(errno, std::generic_category(), "a network namespace");
    raise_loopback();
    nft("add table inet loss");
    nft("add chain inet loss arriving { type filter hook input priority 0; }");
  } catch (const std::exception& error) {
    why_not_ = error.what();
  }
}

LossyNetwork::~LossyNetwork() { ::setns(outside_.get(), CLONE_NEWNET); }

void LossyNetwork::lose_three_of_ten() const {
  nft("add rule inet loss arriving meta l4proto tcp numgen random mod 10 < 3 counter drop");
}

long LossyNetwork::lost() const {
  const auto rules = nft("list chain inet loss arriving");
  const std::string before_count = "counter packets ";
  const auto at = rules.find(before_count);
  return at == rules.npos ? 0 : std::stol(rules.substr(at + before_count.size()));
}

}  // namespace holdfast::support
