#include "net/tls.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <climits>
#include <new>
#include <utility>

namespace holdfast::net {
namespace {

// What OpenSSL says about the first error on this thread.
std::string words_of_openssl() {
  const char* words = ::ERR_reason_error_string(::ERR_peek_error());
  std::string text = words ? words : "no reason given";
  ::ERR_clear_error();
  return text;
}

bool unusable(const char* what, const std::string& file, Problem& problem) {
  problem = {Errc::invalid, "tls", std::string(what) + " " + file + ": " + words_of_openssl()};
  return false;
}

// An encrypted key would make OpenSSL ask for its password at the terminal.
int no_password(char*, int, int, void*) { return 0; }

int clamped(std::size_t size) { return static_cast<int>(std::min<std::size_t>(size, INT_MAX)); }

bool is_address(const std::string& host) {
  in6_addr room{};
  return ::inet_pton(AF_INET, host.c_str(), &room) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &room) == 1;
}

template <class T>
T* made(T* made_by_openssl) {
  return made_by_openssl ? made_by_openssl : throw std::bad_alloc();
}

}  // namespace

// ── what all connections share ───────────────────────────────────────────────────────────────────

std::shared_ptr<TlsContext> TlsContext::make(const TlsOptions& options, Problem& problem) {
  // Our threads may still be at work when the process ends, so OpenSSL must not clean up then.
  ::OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr);
  ::ERR_clear_error();
  std::shared_ptr<TlsContext> context(new TlsContext(options.verify));
  return context->load(options, problem) ? context : nullptr;
}

TlsContext::TlsContext(bool verify)
    : context_(made(::SSL_CTX_new(::TLS_client_method()))), verify_(verify) {
  ::SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
  ::SSL_CTX_set_options(context_.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  ::SSL_CTX_set_mode(context_.get(), SSL_MODE_RELEASE_BUFFERS);  // saves 34 KiB per idle connection
  ::SSL_CTX_set_verify(context_.get(), verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  ::SSL_CTX_set_default_passwd_cb(context_.get(), no_password);
}

void TlsContext::Free::operator()(ssl_ctx_st* context) const noexcept { ::SSL_CTX_free(context); }

bool TlsContext::load(const TlsOptions& options, Problem& problem) {
  const std::string& ca = options.ca_file;
  const std::string& certificate = options.certificate_file;
  const std::string& key = options.key_file;
  revoked_file_ = options.revoked_file;

  if (ca.empty())
    ::SSL_CTX_set_default_verify_paths(context_.get());
  else if (::SSL_CTX_load_verify_file(context_.get(), ca.c_str()) != 1)
    return unusable("cannot use the CA file", ca, problem);

  if (!read_revoked())
    return unusable("cannot use the list of revoked certificates", revoked_file_, problem);
  if (!revoked_file_.empty())
    ::X509_STORE_set_flags(::SSL_CTX_get_cert_store(context_.get()),
                           X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL);

  if (certificate.empty() != key.empty()) {
    problem = {Errc::invalid, "tls",
               "a client certificate needs its key, and a key its certificate"};
    return false;
  }
  if (certificate.empty()) return true;
  if (::SSL_CTX_use_certificate_chain_file(context_.get(), certificate.c_str()) != 1)
    return unusable("cannot use the certificate", certificate, problem);
  if (::SSL_CTX_use_PrivateKey_file(context_.get(), key.c_str(), SSL_FILETYPE_PEM) != 1)
    return unusable("cannot use the key", key, problem);
  return true;
}

// Such lists are short-lived, so each connection reads the file again: the newest list counts. A
// file that cannot be read any more changes nothing.
bool TlsContext::read_revoked() const noexcept {
  if (revoked_file_.empty()) return true;
  ::X509_STORE* const store = ::SSL_CTX_get_cert_store(context_.get());
  ::X509_LOOKUP* const files = ::X509_STORE_add_lookup(store, ::X509_LOOKUP_file());
  return files && ::X509_load_crl_file(files, revoked_file_.c_str(), X509_FILETYPE_PEM) > 0;
}

// ── one connection ───────────────────────────────────────────────────────────────────────────────

Tls::Tls(std::shared_ptr<const TlsContext> context, std::string host)
    : context_(std::move(context)),
      host_(std::move(host)),
      ssl_(made(::SSL_new(context_->context_.get()))),
      in_(made(::BIO_new(::BIO_s_mem()))),
      out_(made(::BIO_new(::BIO_s_mem()))) {
  ::SSL_set_bio(ssl_.get(), in_, out_);
  ::SSL_set_connect_state(ssl_.get());

  const bool address = is_address(host_);
  if (!address && !host_.empty()) ::SSL_set_tlsext_host_name(ssl_.get(), host_.c_str());
  if (!context_->verify_) return;
  if (!context_->read_revoked()) ::ERR_clear_error();
  const int asked =
      address ? ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(ssl_.get()), host_.c_str())
              : ::SSL_set1_host(ssl_.get(), host_.c_str());
  if (asked != 1 || host_.empty()) refuse("there is no host to check its certificate for");
}

void Tls::Free::operator()(ssl_st* ssl) const noexcept { ::SSL_free(ssl); }

void Tls::refuse(const std::string& why) {
  problem_ = {Errc::unavailable, "tls", "TLS with " + host_ + " failed: " + why};
}

void Tls::received(std::span<const char> cipher) {
  if (cipher.empty()) return;
  // Records have types 20 to 23; anything else comes from a port that expects plain text.
  if (!std::exchange(heard_, true) && (cipher[0] < 20 || cipher[0] > 23))
    refuse("the answer is not TLS; is this a port for plain text?");
  ::BIO_write(in_, cipher.data(), clamped(cipher.size()));
}

bool Tls::step(Problem& problem) {
  if (problem_.text.empty()) {
    ::ERR_clear_error();
    if (!ready_) ready_ = went_on(::SSL_do_handshake(ssl_.get()));
    // With TLS 1.3 the server judges our certificate only after the handshake, so look for its
    // alert.
    char first = 0;
    if (ready_) went_on(::SSL_peek(ssl_.get(), &first, 1));
  }
  if (problem_.text.empty()) return true;
  problem = problem_;
  return false;
}

std::size_t Tls::read(std::span<char> plain) {
  if (!ready_ || !problem_.text.empty()) return 0;
  ::ERR_clear_error();
  const int came = ::SSL_read(ssl_.get(), plain.data(), clamped(plain.size()));
  return went_on(came) ? static_cast<std::size_t>(came) : 0;
}

bool Tls::write(std::string_view plain) {
  if (!ready_ || !problem_.text.empty()) return false;
  if (plain.empty()) return true;
  ::ERR_clear_error();
  return went_on(::SSL_write(ssl_.get(), plain.data(), clamped(plain.size())));
}

bool Tls::went_on(int result) {
  if (result > 0) return true;
  switch (::SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return false;
    case SSL_ERROR_ZERO_RETURN: refuse("the server has ended the connection"); return false;
    default: break;
  }
  const long verdict = ::SSL_get_verify_result(ssl_.get());
  if (context_->verify_ && !ready_ && verdict != X509_V_OK)
    refuse(std::string("its certificate is not accepted: ") +
           ::X509_verify_cert_error_string(verdict));
  else
    refuse(words_of_openssl());
  ::ERR_clear_error();
  return false;
}

std::string& Tls::outgoing() {
  if (const std::size_t size = ::BIO_ctrl_pending(out_); size > 0) {
    const std::size_t before = outgoing_.size();
    outgoing_.resize(before + size);
    ::BIO_read(out_, outgoing_.data() + before, clamped(size));
  }
  return outgoing_;
}

}  // namespace holdfast::net
