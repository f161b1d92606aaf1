// N21 of docs/faults.md: host names without an address, or with a dead one first.

#include <dlfcn.h>
#include <netdb.h>

#include <cstring>

#include "holdfast/backend.hpp"
#include "support/redis/server.hpp"
#include "support/results.hpp"

namespace {

constexpr auto name_of_two = "two-addresses.test";

using Lookup = int (*)(const char*, const char*, const addrinfo*, addrinfo**);

}  // namespace

// The C library's, except that one name has a dead address first. The store that is linked into
// this program (not the loaded one) calls this one.
extern "C" int getaddrinfo(const char* host, const char* service, const addrinfo* hints,
                           addrinfo** found) {
  static const auto real = reinterpret_cast<Lookup>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  if (!host || std::strcmp(host, name_of_two) != 0) return real(host, service, hints, found);
  addrinfo* live = nullptr;
  if (const int error = real("127.0.0.1", service, hints, &live)) return error;
  if (const int error = real("127.0.0.2", service, hints, found)) return error;
  addrinfo* last = *found;
  while (last->ai_next) last = last->ai_next;
  last->ai_next = live;
  return 0;
}

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

Store opened(const std::string& url) { return {*holdfast_module(), url, {.patience = 2s}}; }

TEST(RedisLookup, N21NameWithoutAnAddress) {
  const auto lease = opened("redis://nothing.invalid").lock("n").try_acquire();
  ASSERT_TRUE(failed(lease, Errc::unavailable));
  EXPECT_NE(lease.error().message().find("nothing.invalid"), std::string::npos)
      << lease.error().message();
}

TEST(RedisLookup, N21DeadAddressThenALiveOne) {
  const RedisServer server;
  const auto port = std::to_string(server.port());
  EXPECT_TRUE(failed(opened("redis://127.0.0.2:" + port).lock("n").try_acquire(),
                     Errc::unavailable));  // Nobody listens there.
  const auto alice = opened(std::string("redis://") + name_of_two + ":" + port);
  EXPECT_TRUE(succeeded(alice.lock("n").try_acquire()));
}

}  // namespace
}  // namespace holdfast
