#include "stores/etcd/connection.hpp"

#include <grpc/support/log.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <signal.h>

#include <algorithm>
#include <system_error>

namespace holdfast::stores::etcd {
namespace {

using namespace std::chrono_literals;

constexpr auto login_pause = 1s;  // after the server refused a login

std::shared_ptr<grpc::ChannelCredentials> credentials(const Tls& tls) {
  if (!tls.on) return grpc::InsecureChannelCredentials();
  if (tls.verify)
    return grpc::SslCredentials(
        {.pem_root_certs = tls.ca, .pem_private_key = tls.key, .pem_cert_chain = tls.certificate});
  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_verify_server_certs(false);
  options.set_check_call_host(false);
  options.set_certificate_verifier(std::make_shared<grpc::experimental::NoOpCertificateVerifier>());
  if (!tls.certificate.empty()) {
    options.set_certificate_provider(
        std::make_shared<grpc::experimental::StaticDataCertificateProvider>(
            std::vector<grpc::experimental::IdentityKeyCertPair>{{tls.key, tls.certificate}}));
    options.watch_identity_key_cert_pairs();
  }
  return grpc::experimental::TlsCredentials(options);
}

grpc::ChannelArguments arguments() {
  grpc::ChannelArguments all;
  all.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // each store has its own connections
  all.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  all.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  all.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);  // carry() retries, and knows what a repetition means
  all.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  all.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 1'000);  // in fact the timeout of an attempt
  all.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 500);
  all.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  all.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 3'000);
  all.SetMaxReceiveMessageSize(64 << 20);
  return all;
}

}  // namespace

SignalsBlocked::SignalsBlocked() noexcept {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

// On gRPC's monotonic clock, because the wall clock may be set.
void set_deadline(grpc::ClientContext& context, BootTime limit) {
  const auto left = std::chrono::duration_cast<std::chrono::microseconds>(limit - BootClock::now());
  context.set_deadline(
      gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                   gpr_time_from_micros(std::max<std::int64_t>(left.count(), 0), GPR_TIMESPAN)));
}

Connection::Connection(const Options& options, Watching& watching,
                       std::function<void(BootTime)> tick_at)
    : watches(*this, watching),
      options_(options),
      tick_at_(std::move(tick_at)),
      keep_alives_(*this) {
  const SignalsBlocked blocked;
  gpr_set_log_function([](gpr_log_func_args*) {});  // a library does not print
  const auto trusted = credentials(options_.tls);
  for (const std::string& address : options_.addresses) {
    const auto channel = grpc::CreateCustomChannel("dns:///" + address, trusted, arguments());
    members_.push_back({address, members_.size(), pb::KV::NewStub(channel),
                        pb::Lease::NewStub(channel), pb::Watch::NewStub(channel),
                        pb::Auth::NewStub(channel), pb::Cluster::NewStub(channel),
                        pb::Maintenance::NewStub(channel)});
  }
}

// ── which member ─────────────────────────────────────────────────────────────────────────────────

Member& Connection::current() noexcept {
  const std::lock_guard lock(mutex_);
  return members_[current_];
}

void Connection::leave(const Member& member) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (members_.size() < 2 || current_ != member.place) return;
    current_ = (current_ + 1) % members_.size();
  }
  watches.break_off();  // a member that is cut off tells of no changes
  keep_alives_.leave(member.place);
}

// A single member gets all the time there is, because there is no other to ask.
BootTime Connection::attempt_until(BootTime deadline) const noexcept {
  return members_.size() < 2 ? deadline : std::min(deadline, BootClock::now() + attempt_length);
}

Later<bool> Connection::pause_after(std::size_t attempts, BootTime deadline) {
  const BootTime now = BootClock::now();
  const std::size_t rounds = attempts / members_.size();
  if (attempts % members_.size() != 0) return pause(now);
  return pause(std::min(deadline, now + 25ms * (1 << std::min<std::size_t>(rounds, 4))));
}

void Connection::saw(std::int64_t revision) noexcept {
  std::int64_t before = newest_.load();
  while (before < revision && !newest_.compare_exchange_weak(before, revision)) {
  }
}

// ── login ────────────────────────────────────────────────────────────────────────────────────────

std::string Connection::token() const {
  const std::lock_guard lock(mutex_);
  return token_;
}

void Connection::forget_token(const std::string& used) noexcept {
  const std::lock_guard lock(mutex_);
  if (token_ == used) token_.clear();
}

void Connection::prepare(grpc::ClientContext& context) const {
  if (const auto known = token(); !known.empty() && known != no_token)
    context.AddMetadata("token", known);
}

Later<Reply> Connection::log_in(BootTime deadline) {
  const Pledge<Reply> promise;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    if (options_.user.empty() || !token_.empty()) {
      Reply known;
      known.outcome = Outcome::done;
      promise.answer(std::move(known));
    } else if (BootClock::now() < refused_until_) {
      promise.answer(refused_);
    } else {
      first = awaiting_login_.empty();
      awaiting_login_.push_back(promise);
    }
  }
  if (first && !authenticate(deadline).begun) logged_in(std::nullopt);
  return promise.later();
}

Flow Connection::authenticate(BootTime deadline) {
  std::optional<Reply> said;
  struct Told {
    ~Told() { connection.logged_in(said); }  // also if memory runs out, because others wait for it
    Connection& connection;
    const std::optional<Reply>& said;
  } const told{*this, said};

  Reply reply;
  pb::AuthenticateRequest request;
  request.set_name(options_.user);
  request.set_password(options_.password);
  for (std::size_t attempts = 1;; ++attempts) {
    Member& member = current();
    const auto answer = co_await once<pb::AuthenticateResponse>(
        member, request,
        [](Member& at, auto* context, const auto& asked, auto* queue) {
          return at.auth->PrepareAsyncAuthenticate(context, asked, queue);
        },
        attempt_until(deadline));
    const std::string& says = answer.status.error_message();
    if (answer.status.ok() || says.find("authentication is not enabled") != says.npos) {
      const std::lock_guard lock(mutex_);
      token_ = answer.status.ok() ? answer.response.token() : no_token;
      reply.outcome = Outcome::done;
      break;
    }
    const Judged judged = judge(answer.status.error_code(), says, member.address);
    reply.problem = judged.problem;
    reply.outcome = Outcome::refused;
    if (judged.verdict == Verdict::refused || BootClock::now() >= deadline) break;
    leave(member);
    if (!co_await pause_after(attempts, deadline)) break;
  }
  said = std::move(reply);
}

// If memory runs out, the pledges end unkept.
void Connection::logged_in(const std::optional<Reply>& said) noexcept try {
  std::vector<Pledge<Reply>> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(awaiting_login_);
    if (said && said->problem.errc == Errc::denied && !said->done()) {
      refused_ = *said;
      refused_until_ = BootClock::now() + login_pause;
    }
  }
  if (!said) return;
  for (const auto& each : all) each.answer(*said);
} catch (const std::bad_alloc&) {
}

// ── running calls ────────────────────────────────────────────────────────────────────────────────

bool Connection::begin(grpc::ClientContext& context, std::shared_ptr<void> keeps) {
  const std::lock_guard lock(mutex_);
  if (closed_) return false;
  if (!listener_.joinable()) {
    const SignalsBlocked blocked;
    try {
      listener_ = std::thread([this] { listen(); });
    } catch (const std::system_error&) {
      return false;
    }
  }
  running_.emplace(&context, std::move(keeps));
  return true;
}

void Connection::finish(grpc::ClientContext& context) noexcept {
  std::shared_ptr<void> kept;  // destroyed after the mutex is unlocked
  const std::lock_guard lock(mutex_);
  const auto found = running_.find(&context);
  kept = std::move(found->second);
  running_.erase(found);
  if (running_.empty()) idle_.notify_all();
}

void Connection::listen() noexcept {
  pthread_setname_np(pthread_self(), "hf-etcd");
  void* tag = nullptr;
  for (bool ok = false; queue_.Next(&tag, &ok);) Tag::take(tag, ok);
}

Later<bool> Connection::pause(BootTime until) {
  const Pledge<bool> promise;
  {
    const std::lock_guard lock(mutex_);
    if (closed_) return promise.later();
    if (until > BootClock::now()) {
      pauses_.emplace(until, promise);
    } else {
      promise.answer(true);
    }
  }
  tick_at_(until);
  return promise.later();
}

BootTime Connection::tick(BootTime now) noexcept {
  for (;;) {
    std::optional<Pledge<bool>> over;
    {
      const std::lock_guard lock(mutex_);
      if (pauses_.empty()) return BootTime::max();
      if (pauses_.begin()->first > now) return pauses_.begin()->first;
      over = std::move(pauses_.begin()->second);
      pauses_.erase(pauses_.begin());
    }
    over->answer(true);
  }
}

void Connection::close() noexcept {
  std::multimap<BootTime, Pledge<bool>> pauses;
  std::map<grpc::ClientContext*, std::shared_ptr<void>> running;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    pauses.swap(pauses_);
    running = running_;
  }
  pauses.clear();
  for (const auto& [context, kept] : running) context->TryCancel();
  running.clear();
  {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [this] { return running_.empty(); });
  }
  queue_.Shutdown();
  if (listener_.joinable()) listener_.join();
}

}  // namespace holdfast::stores::etcd
