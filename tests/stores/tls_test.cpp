// Goal: plain text passes through TLS both ways when the server is who it should be; otherwise
// nothing passes and the reason is named. Method: our client and a server of OpenSSL's own, with
// bytes handed over without a socket; certificates by the command `openssl`.
#include "net/tls.hpp"

#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "support/files.hpp"
#include "support/redis/certificates.hpp"

namespace holdfast::net {
namespace {

using namespace support;

struct ServerOptions {
  Certificate certificate{};
  std::string clients_signed_by{};  // a CA: clients must show a certificate
  int version = TLS1_3_VERSION;     // at most
};

class Server {
 public:
  explicit Server(const ServerOptions& options) {
    const std::string& file = options.certificate.file;
    const std::string& key = options.certificate.key;
    EXPECT_EQ(SSL_CTX_use_certificate_chain_file(context_.get(), file.c_str()), 1);
    EXPECT_EQ(SSL_CTX_use_PrivateKey_file(context_.get(), key.c_str(), SSL_FILETYPE_PEM), 1);
    SSL_CTX_set_security_level(context_.get(), 0);  // else it would refuse old versions itself
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_VERSION);
    SSL_CTX_set_max_proto_version(context_.get(), options.version);
    if (const std::string& ca = options.clients_signed_by; !ca.empty()) {
      EXPECT_EQ(SSL_CTX_load_verify_file(context_.get(), ca.c_str()), 1);
      SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                         nullptr);
    }
    ssl_.reset(SSL_new(context_.get()));
    SSL_set_bio(ssl_.get(), in_, out_);
    SSL_set_accept_state(ssl_.get());
  }

  // Echoes what it can read.
  std::string answer(const std::string& cipher) {
    BIO_write(in_, cipher.data(), static_cast<int>(cipher.size()));
    char room[4096];
    for (int count = 0; (count = SSL_read(ssl_.get(), room, sizeof room)) > 0;) {
      heard += std::string(room, static_cast<std::size_t>(count));
      SSL_write(ssl_.get(), room, count);
    }
    std::string out(BIO_ctrl_pending(out_), '\0');
    BIO_read(out_, out.data(), static_cast<int>(out.size()));
    return out;
  }
  std::string asked_for() const {
    const char* name = SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name);
    return name ? name : "";
  }
  void say_goodbye() { SSL_shutdown(ssl_.get()); }

  std::string heard;

 private:
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context_{SSL_CTX_new(TLS_server_method()),
                                                             &SSL_CTX_free};
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_{nullptr, &SSL_free};
  BIO* in_ = BIO_new(BIO_s_mem());
  BIO* out_ = BIO_new(BIO_s_mem());
};

class TlsTest : public testing::Test {
 protected:
  void connect(const std::string& host, const TlsOptions& options) {
    const auto context = TlsContext::make(options, problem);
    ASSERT_TRUE(context) << problem.text;
    tls = std::make_unique<Tls>(context, host);
  }
  // Hands over what both have to say until neither has more. False: the client has given up.
  bool talk(std::size_t piece = 1 << 14) {
    for (int rounds = 0; rounds < 1000; ++rounds) {
      if (!tls->step(problem)) return false;
      const std::string said = std::exchange(tls->outgoing(), {});
      const std::string answer = server->answer(said);
      if (said.empty() && answer.empty()) return true;
      for (std::size_t at = 0; at < answer.size(); at += piece) {
        tls->received(std::span(answer).subspan(at, std::min(piece, answer.size() - at)));
        if (!tls->step(problem)) return false;
        char room[1000];
        while (const std::size_t count = tls->read(room)) heard.append(room, count);
      }
    }
    ADD_FAILURE() << "they never end";
    return false;
  }
  testing::AssertionResult works(const std::string& host, const TlsOptions& options,
                                 const ServerOptions& of_server) {
    server.emplace(of_server);
    heard.clear();
    connect(host, options);
    if (!talk()) return testing::AssertionFailure() << problem.text;
    if (!tls->ready() || !tls->write("hello") || !talk() || heard != "hello")
      return testing::AssertionFailure() << "nothing comes through " << problem.text;
    return testing::AssertionSuccess();
  }
  testing::AssertionResult fails(const std::string& words, const std::string& host,
                                 const TlsOptions& options, const ServerOptions& of_server) {
    if (works(host, options, of_server)) return testing::AssertionFailure() << "it worked";
    if (!server->heard.empty()) return testing::AssertionFailure() << "something was said";
    if (problem.errc == Errc::unavailable && problem.reason == "tls" &&
        problem.text.find(words) != std::string::npos &&
        problem.text.find(host) != std::string::npos)
      return testing::AssertionSuccess();
    return testing::AssertionFailure() << problem.reason << ": " << problem.text;
  }

  const TlsOptions trusting{.ca_file = authority().file()};
  const Certificate for_loopback = authority().issue(loopback_names);
  std::optional<Server> server;
  std::unique_ptr<Tls> tls;
  std::string heard;
  Problem problem;
};

TEST_F(TlsTest, WorksByNameAndByAddress) {
  EXPECT_TRUE(works("localhost", trusting, {for_loopback}));
  EXPECT_EQ(server->asked_for(), "localhost");
  EXPECT_TRUE(works("127.0.0.1", trusting, {for_loopback}));
  EXPECT_EQ(server->asked_for(), "");
  EXPECT_TRUE(works("localhost", trusting, {for_loopback, {}, TLS1_2_VERSION}));
}

TEST_F(TlsTest, CarriesMuchInSmallPieces) {
  ASSERT_TRUE(works("localhost", trusting, {for_loopback}));
  heard.clear();
  const std::string much(300'000, 'm');
  ASSERT_TRUE(tls->write(much));
  ASSERT_TRUE(talk(7)) << problem.text;
  EXPECT_EQ(heard, much);
}

TEST_F(TlsTest, RefusesWhoIsNotTrusted) {
  const Authority stranger;
  const Certificate strange = stranger.issue(loopback_names);
  EXPECT_TRUE(fails("unable to get local issuer", "localhost", trusting, {strange}));
  const Certificate self_signed{stranger.file(),
                                std::filesystem::path(stranger.file()).replace_extension(".key")};
  EXPECT_TRUE(fails("self-signed certificate", "localhost", trusting, {self_signed}));
  EXPECT_TRUE(fails("certificate", "localhost", {}, {for_loopback}));  // the system knows neither
}

TEST_F(TlsTest, RefusesAnotherHost) {
  const Certificate other = authority().issue("DNS:other.example,IP:127.0.0.2");
  EXPECT_TRUE(fails("hostname mismatch", "localhost", trusting, {other}));
  EXPECT_TRUE(fails("IP address mismatch", "127.0.0.1", trusting, {other}));
}

TEST_F(TlsTest, RefusesWhatHasExpired) {
  const Certificate expired = authority().issue(loopback_names, 0);
  EXPECT_TRUE(fails("expired", "localhost", trusting, {expired}));
}

// Each authority in the chain must have issued a revocation list.
class TlsRevocation : public TlsTest {
 protected:
  void list(std::initializer_list<std::string> parts) {
    std::ofstream whole(checking.revoked_file);
    for (const std::string& part : parts) whole << std::ifstream(part).rdbuf();
  }

  const TempFolder folder;
  const Authority root, below = root.below();
  const Certificate by_root = root.issue(loopback_names), by_below = below.issue(loopback_names);
  const TlsOptions checking{.ca_file = root.file(), .revoked_file = folder.path() / "revoked"};
};

TEST_F(TlsRevocation, RefusesWhatWasRevoked) {
  list({root.revoked({}), below.revoked({})});
  EXPECT_TRUE(works("localhost", checking, {by_root}));
  EXPECT_TRUE(works("localhost", checking, {by_below}));
  list({root.revoked({by_root}), below.revoked({by_below})});
  EXPECT_TRUE(fails("certificate revoked", "localhost", checking, {by_root}));
  EXPECT_TRUE(fails("certificate revoked", "localhost", checking, {by_below}));
  EXPECT_TRUE(works("localhost", {.ca_file = root.file()}, {by_root}));
}

TEST_F(TlsRevocation, RefusesWhomARevokedAuthoritySigned) {
  list({root.revoked({below.certificate()}), below.revoked({})});
  EXPECT_TRUE(fails("certificate revoked", "localhost", checking, {by_below}));
  EXPECT_TRUE(works("localhost", checking, {by_root}));
}

TEST_F(TlsRevocation, RefusesWhereAListIsMissing) {
  list({root.revoked({})});
  EXPECT_TRUE(fails("unable to get certificate CRL", "localhost", checking, {by_below}));
  EXPECT_TRUE(works("localhost", checking, {by_root}));
}

TEST_F(TlsRevocation, ReadsANewerListWithTheNextConnection) {
  list({root.revoked({})});
  const auto context = TlsContext::make(checking, problem);
  ASSERT_TRUE(context) << problem.text;
  const auto accepted = [&] {
    server.emplace(ServerOptions{by_root});
    tls = std::make_unique<Tls>(context, "localhost");
    return talk();
  };
  EXPECT_TRUE(accepted()) << problem.text;
  list({root.revoked({by_root})});
  EXPECT_FALSE(accepted());
  std::filesystem::remove(checking.revoked_file);  // makes no difference
  EXPECT_FALSE(accepted());
  list({root.revoked({})});
  EXPECT_TRUE(accepted()) << problem.text;
}

TEST_F(TlsTest, RefusesOldVersions) {
  EXPECT_TRUE(fails("version", "localhost", trusting, {for_loopback, {}, TLS1_1_VERSION}));
}

TEST_F(TlsTest, AcceptsAnybodyOnlyIfToldTo) {
  const Certificate other = authority().issue("DNS:other.example", 0);
  TlsOptions blind;
  blind.verify = false;
  EXPECT_TRUE(works("localhost", blind, {other}));
  EXPECT_TRUE(works("127.0.0.1", blind, {other}));
}

TEST_F(TlsTest, HasNobodyToCheckWithoutAHost) {
  EXPECT_TRUE(fails("no host", "", trusting, {for_loopback}));
}

TEST_F(TlsTest, ShowsItsOwnCertificate) {
  const Certificate ours = authority().issue("DNS:client");
  TlsOptions known = trusting;
  known.certificate_file = ours.file;
  known.key_file = ours.key;
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    const ServerOptions strict{for_loopback, authority().file(), version};
    EXPECT_TRUE(works("localhost", known, strict));
    EXPECT_TRUE(fails("alert", "localhost", trusting, strict));
  }
}

TEST_F(TlsTest, RecognisesPlainText) {
  for (const std::string answer : {"-ERR Protocol error\r\n", "HTTP/1.1 400 Bad Request\r\n"}) {
    connect("localhost", trusting);
    ASSERT_TRUE(tls->step(problem));
    EXPECT_FALSE(tls->outgoing().empty());
    tls->received(answer);
    EXPECT_FALSE(tls->step(problem));
    EXPECT_NE(problem.text.find("not TLS"), std::string::npos) << problem.text;
    EXPECT_FALSE(tls->write("secret"));
  }
}

TEST_F(TlsTest, FailsForGoodOnGarbage) {
  ASSERT_TRUE(works("localhost", trusting, {for_loopback}));
  tls->received(std::string("\x17\x03\x03\0\x20", 5) + std::string(32, 'x'));
  EXPECT_FALSE(tls->step(problem));
  EXPECT_EQ(problem.reason, "tls");
  char room[8];
  EXPECT_EQ(tls->read(room), 0u);
  EXPECT_FALSE(tls->step(problem));
}

TEST_F(TlsTest, NoticesAGoodbye) {
  ASSERT_TRUE(works("localhost", trusting, {for_loopback}));
  server->say_goodbye();
  EXPECT_FALSE(talk());
  EXPECT_NE(problem.text.find("ended the connection"), std::string::npos) << problem.text;
}

TEST_F(TlsTest, NamesAFileThatCannotBeUsed) {
  const auto refused = [&](const TlsOptions& options, const std::string& words) {
    problem = {};
    const bool made = TlsContext::make(options, problem) != nullptr;
    return !made && problem.errc == Errc::invalid && problem.reason == "tls" &&
           problem.text.find(words) != std::string::npos;
  };
  const TempFolder folder;
  const std::string absent = folder.path() / "absent";
  const std::string locked = folder.path() / "locked";  // must not ask at the terminal
  std::ofstream(locked) << "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"
                           "DEK-Info: AES-128-CBC,00112233445566778899AABBCCDDEEFF\n\n"
                           "AAAAAAAAAAAAAAAAAAAAAA==\n-----END RSA PRIVATE KEY-----\n";
  const auto& [file, key, _] = for_loopback;
  const std::string foreign_key = authority().issue("DNS:client").key;
  EXPECT_TRUE(refused({absent}, absent)) << problem.text;
  EXPECT_TRUE(refused({.revoked_file = absent}, absent)) << problem.text;
  EXPECT_TRUE(refused({.revoked_file = file}, file)) << problem.text;  // a certificate, no list
  EXPECT_TRUE(refused({{}, absent, key}, absent)) << problem.text;
  EXPECT_TRUE(refused({{}, file, absent}, absent)) << problem.text;
  EXPECT_TRUE(refused({{}, file, locked}, locked)) << problem.text;
  EXPECT_TRUE(refused({{}, file, foreign_key}, "mismatch")) << problem.text;
  EXPECT_TRUE(refused({{}, file, {}}, "needs its key")) << problem.text;
}

}  // namespace
}  // namespace holdfast::net
