// X01 and X02 of docs/faults.md: servers that are not who they should be, or speak no TLS. All
// are refused unless the user said insecure=on, and none hears a password.

#include <sys/socket.h>

#include <fstream>
#include <thread>

#include "faults/redis/on_redis.hpp"
#include "support/sockets.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using namespace support;

const std::string with_authority = "ca=" + authority().file();

std::string at(int port, const std::string& options, const std::string& host = "127.0.0.1") {
  return "rediss://user:pa55@" + host + ":" + std::to_string(port) +
         (options.empty() ? "" : "?" + options);
}

Result<Lease> tried(const std::string& url, Millis patience = patient) {
  return open(url, {.patience = patience}).value().lock("n").try_acquire();
}

testing::AssertionResult refused(const std::string& url, const std::string& words,
                                 Millis patience = patient) {
  const auto lease = tried(url, patience);
  if (const auto as_expected = failed(lease, Errc::unavailable); !as_expected) return as_expected;
  const auto& text = lease.error().message();
  if (text.find(words) == text.npos || text.find("pa55") != text.npos)
    return testing::AssertionFailure() << text;
  return testing::AssertionSuccess();
}

RedisOptions with(const Certificate& certificate) {
  return {.users = {"user on >pa55 ~* &* +@all"}, .tls = certificate};
}

bool heard_a_password(const RedisServer& server) {
  return server.client().calls().contains("auth");
}

using RedisTlsCommand = OnRedis;

TEST(RedisTls, X01WhoIsTrustedIsLetIn) {
  const RedisServer server(with(authority().issue(loopback_names)));
  EXPECT_TRUE(succeeded(tried(at(server.tls_port(), with_authority))));
  EXPECT_TRUE(succeeded(tried(at(server.tls_port(), with_authority, "localhost"))));
  EXPECT_TRUE(heard_a_password(server));
}

TEST(RedisTls, X01StrangersAreRefused) {
  const Authority stranger;
  const RedisServer server(with(stranger.issue(loopback_names)));
  EXPECT_TRUE(refused(at(server.tls_port(), with_authority), "certificate"));
  EXPECT_TRUE(refused(at(server.tls_port(), ""), "certificate"));  // Checked unless told otherwise.
  EXPECT_FALSE(heard_a_password(server));
  EXPECT_TRUE(succeeded(tried(at(server.tls_port(), "insecure=on"))));
}

TEST(RedisTls, X01SelfSignedIsRefused) {
  const Authority self;
  const auto key = std::filesystem::path(self.file()).replace_extension(".key");
  const RedisServer server(with({self.file(), key}));
  EXPECT_TRUE(refused(at(server.tls_port(), with_authority), "self-signed"));
  EXPECT_FALSE(heard_a_password(server));
}

TEST(RedisTls, X01OtherHostIsRefused) {
  const RedisServer server(with(authority().issue("DNS:other.example,IP:127.0.0.2")));
  EXPECT_TRUE(refused(at(server.tls_port(), with_authority), "mismatch"));
  EXPECT_TRUE(refused(at(server.tls_port(), with_authority, "localhost"), "mismatch"));
  EXPECT_FALSE(heard_a_password(server));
}

TEST(RedisTls, X01ExpiredIsRefused) {
  const RedisServer server(with(authority().issue(loopback_names, 0)));
  EXPECT_TRUE(refused(at(server.tls_port(), with_authority), "expired"));
  EXPECT_FALSE(heard_a_password(server));
}

TEST_F(RedisTlsCommand, X01RevokedIsRefused) {
  const Authority root;
  const auto known = "ca=" + root.file();
  const auto certificate = root.issue(loopback_names);
  const RedisServer server(with(certificate));
  const auto checked = [&](const std::string& list) {
    return at(server.tls_port(), known + "&crl=" + list);
  };
  const auto revoked = checked(root.revoked({certificate}));
  EXPECT_TRUE(refused(revoked, "certificate revoked"));
  const auto outcome = holdfast_on(revoked, {"run", name, "--wait", "1s", "--", "true"});
  EXPECT_EQ(outcome.code, 69) << outcome.err;
  EXPECT_NE(outcome.err.find("certificate revoked"), std::string::npos) << outcome.err;
  EXPECT_FALSE(heard_a_password(server));
  EXPECT_TRUE(succeeded(tried(checked(root.revoked({})))));
  EXPECT_TRUE(succeeded(tried(at(server.tls_port(), known))));  // Not checked unless asked for.

  const auto absent = holdfast_on(checked(root.file() + ".absent"), {"run", name, "--", "true"});
  EXPECT_EQ(absent.code, 78) << absent.err;
  EXPECT_NE(absent.err.find(".absent"), std::string::npos) << absent.err;
}

TEST(RedisTls, X01RevokedAuthorityIsRefused) {
  const TempFolder folder;
  const Authority root, below = root.below();
  const RedisServer server(with(below.issue(loopback_names)));
  const std::string lists = folder.path() / "lists";
  const auto checked = at(server.tls_port(), "ca=" + root.file() + "&crl=" + lists);
  const auto list = [&](const std::string& of_root) {
    std::ofstream(lists) << std::ifstream(of_root).rdbuf()
                         << std::ifstream(below.revoked({})).rdbuf();
  };
  list(root.revoked({below.certificate()}));
  EXPECT_TRUE(refused(checked, "certificate revoked"));
  EXPECT_FALSE(heard_a_password(server));
  list(root.revoked({}));
  EXPECT_TRUE(succeeded(tried(checked)));
}

TEST(RedisTls, X01OldProtocolIsRefused) {
  auto options = with(authority().issue(loopback_names));
  options.config = {"tls-protocols \"TLSv1.1\"", "tls-ciphers DEFAULT:@SECLEVEL=0"};
  const RedisServer server(options);
  EXPECT_TRUE(refused(at(server.tls_port(), with_authority), "version"));
  EXPECT_FALSE(heard_a_password(server));
}

TEST(RedisTls, X01ClientWithoutItsCertificateIsSentAway) {
  auto options = with(authority().issue(loopback_names));
  options.client_certificate = true;
  const RedisServer server(options);
  EXPECT_TRUE(refused(at(server.tls_port(), with_authority), "certificate"));
  const auto ours = authority().issue("DNS:client");
  EXPECT_TRUE(succeeded(
      tried(at(server.tls_port(), with_authority + "&cert=" + ours.file + "&key=" + ours.key))));
}

TEST(RedisTls, X01PlainPort) {
  const RedisServer server(with(authority().issue(loopback_names)));
  EXPECT_TRUE(refused(at(server.port(), with_authority), "TLS", 1s));  // It says nothing.
  EXPECT_FALSE(heard_a_password(server));
}

TEST(RedisTls, X01TlsPortWithoutTls) {
  const RedisServer server(with(authority().issue(loopback_names)));
  const auto lease = tried("redis://127.0.0.1:" + std::to_string(server.tls_port()));
  ASSERT_TRUE(failed(lease, Errc::unavailable));
}

// The command warns on every run, in one line, whatever it does.
TEST_F(RedisTlsCommand, X01UncheckedIsWarnedOf) {
  const Authority stranger;
  const RedisServer server(with(stranger.issue(loopback_names)));
  const auto unchecked = at(server.tls_port(), "insecure=on");
  for (const cli_test::Words& words :
       {cli_test::Words{"run", name, "--", "true"}, {"ls"}, {"show", name}, {"break", name}}) {
    const auto outcome = holdfast_on(unchecked, words);
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_EQ(cli_test::lines_in(outcome.err), 1) << outcome.err;
    EXPECT_NE(outcome.err.find("insecure=on: the store's certificate is not checked"),
              std::string::npos)
        << outcome.err;
    EXPECT_EQ(outcome.err.find("pa55"), std::string::npos) << outcome.err;
  }
  const auto shown = holdfast_on(unchecked, {"show", name, "--verbose"});
  EXPECT_NE(shown.out.find("certificates are not checked: insecure=on"), std::string::npos)
      << shown.out;
}

TEST_F(RedisTlsCommand, X01CheckedIsNotWarnedOf) {
  const RedisServer server(with(authority().issue(loopback_names)));
  const auto shown =
      holdfast_on(at(server.tls_port(), with_authority), {"show", name, "--verbose"});
  EXPECT_EQ(shown.code, 0);
  EXPECT_EQ(shown.err, "");
  EXPECT_NE(shown.out.find("certificates are checked"), std::string::npos) << shown.out;
}

// A server, or somebody in between, that answers our hello in plain text.
TEST(RedisTls, X02DowngradeIsRefused) {
  for (const std::string answer : {"+OK\r\n", "-ERR unknown command\r\n", "\r\n"}) {
    SCOPED_TRACE(answer);
    const Listener listener;
    std::string heard;
    std::thread plain([&] {
      while (auto socket = listener.accept()) {
        char bytes[4096];
        const auto count = ::recv(socket.get(), bytes, sizeof bytes, 0);
        if (count > 0) heard.append(bytes, static_cast<std::size_t>(count));
        ::send(socket.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
        while (::recv(socket.get(), bytes, sizeof bytes, 0) > 0) {
        }
      }
    });
    EXPECT_TRUE(refused(at(listener.port(), with_authority), "TLS"));
    EXPECT_TRUE(refused(at(listener.port(), "insecure=on"), "TLS"));
    listener.refuse();
    plain.join();
    EXPECT_FALSE(heard.empty());
    EXPECT_EQ(heard.find("pa55"), std::string::npos);
    EXPECT_EQ(heard.find("AUTH"), std::string::npos);
  }
}

}  // namespace
}  // namespace holdfast
