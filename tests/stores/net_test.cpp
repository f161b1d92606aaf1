// Goal: dialing never blocks, and a failure is reported in time with its reason; bytes flow through
// a connection without a signal. Method: real sockets on the loopback interface alone.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/un.h>

#include <algorithm>
#include <string>
#include <vector>

#include "net/dial.hpp"
#include "net/flow.hpp"
#include "stores/common/clock.hpp"
#include "support/eventually.hpp"
#include "support/files.hpp"
#include "support/sockets.hpp"

namespace holdfast::net {
namespace {

using namespace std::chrono_literals;
using namespace support;
using State = Dial::State;
using End = Flow::End;

BootTime in(Millis time) { return BootClock::now() + time; }

Place at(int port, std::string host = "127.0.0.1") {
  return {std::move(host), static_cast<std::uint16_t>(port)};
}

Addresses addresses_of(std::initializer_list<int> ports) {
  Addresses all;
  for (const int port : ports) look_up(at(port), AI_NUMERICHOST, all);
  return all;
}

// As a store does it.
State drive(Dial& dial) {
  for (;;) {
    const State state = dial.step(BootClock::now());
    if (state != State::trying) return state;
    pollfd polled{dial.descriptor(), dial.events(), 0};
    stores::poll_until({&polled, 1}, dial.next());
  }
}

testing::AssertionResult connects(Dial&& dial, const Listener& listener) {
  if (drive(dial) != State::connected) return testing::AssertionFailure() << dial.problem().text;
  const Descriptor socket = dial.take(), other = listener.accept();
  send_some(socket.get(), std::string_view("hello"));
  char room[8];
  const ssize_t came = ::recv(other.get(), room, 5, MSG_WAITALL);
  if (came != 5) return testing::AssertionFailure() << "nothing comes through";
  return testing::AssertionSuccess();
}

testing::AssertionResult fails(Dial&& dial, std::string_view reason,
                               std::initializer_list<std::string_view> words) {
  if (drive(dial) != State::failed) return testing::AssertionFailure() << "it connected";
  const Problem& problem = dial.problem();
  const bool says_all = std::ranges::all_of(
      words, [&](auto word) { return problem.text.find(word) != std::string::npos; });
  if (problem.errc == Errc::unavailable && problem.reason == reason && says_all)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << problem.reason << ": " << problem.text;
}

int option_of(const Descriptor& socket, int level, int option) {
  int value = 0;
  socklen_t size = sizeof value;
  getsockopt(socket.get(), level, option, &value, &size);
  return value;
}

// A port that listens and does not answer, because too many connections wait to be accepted.
class Silent {
 public:
  Silent() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(::bind(socket_.get(), any, size), 0);
    EXPECT_EQ(::listen(socket_.get(), 0), 0);
    ::getsockname(socket_.get(), any, &size);
    port_ = ntohs(address.sin_port);
    EXPECT_EQ(::connect(waiting_.get(), any, size), 0);
    pollfd full{socket_.get(), POLLIN, 0};  // One is more than its backlog has room for.
    EXPECT_EQ(::poll(&full, 1, static_cast<int>(patient.count())), 1);
  }
  int port() const { return port_; }

 private:
  Descriptor socket_;
  int port_ = 0;
  Descriptor waiting_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

// ── dialing ──────────────────────────────────────────────────────────────────────────────────────

TEST(Dial, ReachesWhoListens) {
  const Listener listener;
  EXPECT_TRUE(connects(Dial(at(listener.port()), in(patient)), listener));
  EXPECT_TRUE(connects(Dial(at(listener.port(), "localhost"), in(patient)), listener));
}

TEST(Dial, GivesASocketFitForUse) {
  const Listener listener;
  Dial dial(at(listener.port()), in(patient));
  ASSERT_EQ(drive(dial), State::connected);
  const Descriptor socket = dial.take();
  EXPECT_TRUE(fcntl(socket.get(), F_GETFD) & FD_CLOEXEC);
  EXPECT_TRUE(fcntl(socket.get(), F_GETFL) & O_NONBLOCK);
  EXPECT_TRUE(option_of(socket, IPPROTO_TCP, TCP_NODELAY));
  EXPECT_TRUE(option_of(socket, SOL_SOCKET, SO_KEEPALIVE));
}

TEST(Dial, SaysWhoRefused) {
  const int port = free_port();
  const long before = open_descriptors();
  EXPECT_TRUE(fails(Dial(at(port), in(patient)), "unreachable",
                    {"127.0.0.1:" + std::to_string(port), "Connection refused"}));
  EXPECT_TRUE(
      fails(Dial(at(port, "::1"), in(patient)), "unreachable", {"[::1]:" + std::to_string(port)}));
  EXPECT_LE(open_descriptors(), before);  // Fewer, if a look-up of another case has only now ended.
}

TEST(Dial, GivesUpInTimeOnOneThatIsSilent) {
  const Silent silent;
  const BootTime until = in(200ms);
  EXPECT_TRUE(fails(Dial(at(silent.port()), until), "unreachable",
                    {std::to_string(silent.port()), "timed out"}));
  EXPECT_GE(BootClock::now(), until);
}

TEST(Dial, NamesTheNameThatHasNoAddress) {
  EXPECT_TRUE(fails(Dial(at(6379, "nothing.invalid"), in(patient)), "unreachable",
                    {"nothing.invalid:6379"}));
}

TEST(Dial, DoesNotWaitForANameLongerThanItMay) {
  const long before = open_descriptors();
  for (int round = 0; round < 20; ++round)
    EXPECT_TRUE(
        fails(Dial(at(6379, "nothing.invalid"), in(0ms)), "unreachable", {"nothing.invalid:6379"}));
  EXPECT_TRUE(eventually([&] { return open_descriptors() <= before; }));  // the look-ups do end
}

TEST(Dial, TriesTheNextAddressWhenOneRefuses) {
  const Listener listener;
  EXPECT_TRUE(connects(
      Dial(at(1, "two"), addresses_of({free_port(), listener.port()}), in(patient)), listener));
}

TEST(Dial, TriesTheNextAddressWhenOneIsSilent) {
  const Silent silent;
  const Listener listener;
  Dial dial(at(1, "two"), addresses_of({silent.port(), listener.port()}), in(patient));
  EXPECT_EQ(dial.step(BootClock::now()), State::trying);
  dial.step(dial.next());  // Its share of the time is over.
  EXPECT_TRUE(connects(std::move(dial), listener));
}

TEST(Dial, SaysWhatTheLastAddressSaid) {
  EXPECT_TRUE(fails(Dial(at(1, "two"), addresses_of({free_port(), free_port()}), in(patient)),
                    "unreachable", {"two:1", "Connection refused", "127.0.0.1", "2 addresses"}));
}

TEST(Dial, NamesALackOfDescriptors) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const int next = dup(STDERR_FILENO);
  close(next);
  rlimit none = before;
  none.rlim_cur = static_cast<rlim_t>(next);
  setrlimit(RLIMIT_NOFILE, &none);
  const auto numeric = fails(Dial(at(1), in(patient)), "resource", {"127.0.0.1:1", "open files"});
  const auto named =
      fails(Dial(at(1, "localhost"), in(patient)), "resource", {"localhost:1", "open files"});
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_TRUE(numeric);
  EXPECT_TRUE(named);
}

// ── Unix sockets ─────────────────────────────────────────────────────────────────────────────────

class UnixSocket : public testing::Test {
 protected:
  void listen() {
    const Address address = unix_address(place.path);
    ASSERT_EQ(::bind(socket.get(), address.get(), address.size), 0);
    ASSERT_EQ(::listen(socket.get(), 0), 0);
  }
  TempFolder folder;
  Place place{{}, 0, folder.path() / "server"};
  Descriptor socket{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
};

TEST_F(UnixSocket, IsReached) {
  listen();
  Dial dial(place, in(patient));
  EXPECT_EQ(drive(dial), State::connected);
}

TEST_F(UnixSocket, IsNamedWhenItIsNotThere) {
  EXPECT_TRUE(fails(Dial(place, in(patient)), "unreachable", {place.path, "No such file"}));
  place.path.append(200, 'x');
  EXPECT_TRUE(fails(Dial(place, in(patient)), "unreachable", {place.path, "too long"}));
}

TEST_F(UnixSocket, IsTriedAgainWhileItsBacklogIsFull) {
  listen();
  std::vector<Descriptor> waiting;
  for (int tries = 0; tries < 64; ++tries) {
    Dial dial(place, in(patient));
    if (dial.step(BootClock::now()) == State::connected) {
      waiting.push_back(dial.take());
      continue;
    }
    EXPECT_EQ(dial.step(BootClock::now()), State::trying);
    const Descriptor accepted(::accept(socket.get(), nullptr, nullptr));
    EXPECT_EQ(drive(dial), State::connected);
    EXPECT_TRUE(fails(Dial(place, in(50ms)), "unreachable", {place.path, "timed out"}));
    return;
  }
  ADD_FAILURE() << "the backlog is never full";
}

// ── bytes ────────────────────────────────────────────────────────────────────────────────────────

class Flowing : public testing::Test {
 protected:
  Flowing() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    ours = Descriptor(ends[0]);
    theirs = Descriptor(ends[1]);
  }
  Descriptor ours, theirs;
  std::vector<char> room = std::vector<char>(1 << 16);
};

TEST_F(Flowing, MovesWhatThereIsAndNeverWaits) {
  EXPECT_EQ(receive_some(ours.get(), room).end, End::would_block);
  EXPECT_EQ(receive_some(ours.get(), {}).end, End::would_block);
  const Flow sent = send_some(theirs.get(), std::string_view("hello"));
  EXPECT_EQ(sent.bytes, 5u);
  EXPECT_EQ(sent.end, End::open);
  const Flow came = receive_some(ours.get(), room);
  EXPECT_EQ(came.bytes, 5u);
  EXPECT_EQ(came.end, End::open);
}

TEST_F(Flowing, SaysWhenNoMoreFits) {
  Flow sent;
  for (int tries = 0; tries < 1000 && sent.end == End::open; ++tries)
    sent = send_some(ours.get(), room);
  EXPECT_EQ(sent.end, End::would_block);
}

TEST_F(Flowing, SaysWhenTheOtherSideHasClosed) {
  theirs = Descriptor();
  const Flow came = receive_some(ours.get(), room);
  EXPECT_EQ(came.end, End::closed);
  EXPECT_EQ(came.error, 0);
  const Flow sent = send_some(ours.get(), std::string_view("x"));  // and no SIGPIPE
  EXPECT_EQ(sent.end, End::closed);
  EXPECT_EQ(sent.error, EPIPE);
}

TEST_F(Flowing, SaysWhatFailed) {
  const Flow came = receive_some(-1, room);
  EXPECT_EQ(came.end, End::failed);
  EXPECT_EQ(came.error, EBADF);
}

}  // namespace
}  // namespace holdfast::net
