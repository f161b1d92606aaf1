// net/tls.hpp: TLS by OpenSSL, as bytes in and bytes out; the owner of the socket moves them.
//
//   tls.received(cipher);             // what came from the socket
//   if (!tls.step(problem)) give up;  // goes on with the handshake; later looks at what came
//   while (n = tls.read(room)) …      // plain text; write() once it is ready()
//   send and clear tls.outgoing();    // after each of these
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "holdfast/backend.hpp"

struct ssl_ctx_st;  // OpenSSL's, whose headers stay out of ours
struct ssl_st;
struct bio_st;

namespace holdfast::net {

struct TlsOptions {
  std::string ca_file{};           // PEM; empty: the CAs that the system trusts
  std::string certificate_file{};  // PEM, with its chain; for a server that asks for it
  std::string key_file{};          // PEM, not encrypted
  std::string revoked_file{};      // PEM, a list from each CA; empty: nothing is revoked
  bool verify = true;              // check the server's certificate and its host
};

// Shared by all connections of a store. TLS 1.2 or newer.
class TlsContext {
 public:
  // Null and a problem if a file cannot be used.
  static std::shared_ptr<TlsContext> make(const TlsOptions& options, Problem& problem);
  bool verifies() const noexcept { return verify_; }

 private:
  friend class Tls;
  explicit TlsContext(bool verify);
  bool load(const TlsOptions& options, Problem& problem);
  bool read_revoked() const noexcept;

  struct Free {
    void operator()(ssl_ctx_st* context) const noexcept;
  };
  std::unique_ptr<ssl_ctx_st, Free> context_;
  bool verify_;
  std::string revoked_file_;
};

// The client's side of one connection. One thread at a time.
class Tls {
 public:
  // The certificate must be for `host`, a name or an address.
  Tls(std::shared_ptr<const TlsContext> context, std::string host);

  void received(std::span<const char> cipher);
  bool step(Problem& problem);  // false: it has failed for good, reason "tls"
  bool ready() const noexcept { return ready_; }
  std::size_t read(std::span<char> plain);  // 0: nothing more has come, or the next step tells why
  bool write(std::string_view plain);       // false: the next step tells why
  std::string& outgoing();                  // bytes to send

 private:
  bool went_on(int result);  // judges what an OpenSSL call returned; false: it did nothing
  void refuse(const std::string& why);

  std::shared_ptr<const TlsContext> context_;
  std::string host_;
  struct Free {
    void operator()(ssl_st* ssl) const noexcept;
  };
  std::unique_ptr<ssl_st, Free> ssl_;
  bio_st* in_;  // ssl_ owns both
  bio_st* out_;
  bool heard_ = false;  // something came from the server
  bool ready_ = false;
  std::string outgoing_;
  Problem problem_;  // has a text: failed
};

}  // namespace holdfast::net
