// Goal: a program that this process starts inherits no descriptor of a store (A3).
// Method: such a program lists the descriptors that it finds open. It may start at any moment, so
// every socket and pipe must have close-on-exec from the start: this program has its own socket()
// and pipe(), which the libraries that it loads use.

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <optional>
#include <thread>

#include "support/process.hpp"
#include "support/results.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace support;

std::atomic<int> unmarked = 0;

}  // namespace
}  // namespace holdfast

extern "C" int socket(int domain, int type, int protocol) noexcept {
  if ((type & SOCK_CLOEXEC) == 0) ++holdfast::unmarked;
  return static_cast<int>(::syscall(SYS_socket, domain, type, protocol));
}

extern "C" int pipe(int* ends) noexcept {
  ++holdfast::unmarked;
  return ::pipe2(ends, 0);
}

namespace holdfast {
namespace {

class Descriptors : public Conformance {
 protected:
  // By posix_spawn: whatever it passes on, fork, exec and system() pass on too.
  static std::string found_by_a_program() {
    return Process({"sh", "-c", "echo /proc/self/fd/*"}).read();
  }

  // Holds the lock, lets somebody wait for it, and gets it again after its lease ended.
  template <class Look>
  void use(Look&& look) {
    const auto alice = world.client();
    const auto bob = world.client();
    auto lease = std::make_optional(alice.lock(name).acquire().value());
    look("held");
    {
      std::stop_source stop;
      std::jthread waiter([&] { (void)bob.lock(name).acquire(stop.get_token()); });
      ASSERT_TRUE(eventually([&] { return waiting(alice, name) == 1 || !world.traits().queues; }));
      look("waited for");
      stop.request_stop();
    }
    world.end_holder(name);
    lease.reset();
    lease.emplace(take_at_once(alice, name).value());
    look("held again");
  }
};
HOLDFAST_ON_EVERY_STORE(Descriptors);

TEST_P(Descriptors, AreNotInheritedByAProgramThatIsStarted) {
  const auto before = found_by_a_program();
  use([&](const char* when) { EXPECT_EQ(found_by_a_program(), before) << when; });
  EXPECT_EQ(found_by_a_program(), before);
}

TEST_P(Descriptors, AreMarkedWhenTheyAreOpened) {
  const int before = unmarked;
  use([&](const char* when) { EXPECT_EQ(unmarked, before) << when; });
}

}  // namespace
}  // namespace holdfast
