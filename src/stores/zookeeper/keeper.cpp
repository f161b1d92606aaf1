#include "stores/zookeeper/keeper.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

#include "stores/common/flow.hpp"
#include "stores/zookeeper/trouble.hpp"

namespace holdfast::stores::zookeeper {
namespace {

// Makes a problem; without memory for it, reports that instead.
template <class Make>
Problem said(Make make) noexcept try {
  return make();
} catch (const std::bad_alloc&) {
  return {Errc::unavailable, "resource", "out of memory"};
}

}  // namespace

// ── waiting for a session ────────────────────────────────────────────────────────────────────────

bool Keeper::enter(Entrance& entrance) noexcept {
  const std::lock_guard lock(mutex_);
  if (!session_ || !session_->connected()) return false;
  entrance.found_.session = session_;
  return true;
}

// Another thread may resume the coroutine before this returns, so nothing of it is touched once the
// mutex is unlocked.
bool Keeper::wait(Entrance& entrance, std::coroutine_handle<> waiting) {
  const std::lock_guard lock(mutex_);
  if (closed_) {
    entrance.found_.problem = closing();
    return false;
  }
  if (session_ && session_->connected()) {
    entrance.found_.session = session_;
    return false;
  }
  waiting_.push_back({waiting, &entrance});
  if (!session_ && !std::exchange(wanted_, true)) courier_.tick_at(BootTime());
  return true;
}

// Resumes all that wait: with the session, or with the problem.
void Keeper::admit(const std::shared_ptr<Session>& session, const Problem& problem) noexcept {
  std::vector<Waiting> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(waiting_);
  }
  for (const Waiting& each : all) {
    each.entrance->found_.session = session;
    try {
      each.entrance->found_.problem = problem;
    } catch (const std::bad_alloc&) {
      each.entrance->found_.problem.errc = problem.errc;
    }
    each.handle.resume();
  }
}

std::shared_ptr<Session> Keeper::present() noexcept {
  const std::lock_guard lock(mutex_);
  return session_;
}

bool Keeper::connected() noexcept {
  const std::lock_guard lock(mutex_);
  return session_ && session_->connected();
}

// ── the session's life ───────────────────────────────────────────────────────────────────────────

// On a thread of its own, because resolving a name may take long and a backend's call must not
// wait. Closing the earlier sessions may take as long, because they may be about to resolve a name
// too.
void Keeper::open(std::vector<std::shared_ptr<Session>> over) {
  end_opening();  // No opening is under way, because there was no session.
  auto session = std::make_shared<Session>(options_, static_cast<Audience&>(*this));
  {
    const std::lock_guard lock(mutex_);
    ended_.reserve(ended_.size() + 1);  // so that let_go() needs no memory
    wanted_ = false;
    session_ = session;
  }
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = 0;
  try {
    opening_ = std::thread([this, session, over = std::move(over)] {
      for (const auto& each : over) each->close();
      opened(session, session->open());
      opening_is_over_ = true;
      courier_.tick_at(BootTime());
    });
  } catch (const std::system_error&) {
    error = EAGAIN;
  } catch (const std::bad_alloc&) {
    error = ENOMEM;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) opened(session, error);
}

// In tick() the thread is done, or nearly; in close() it may still resolve a name.
void Keeper::end_opening() noexcept {
  if (opening_.joinable()) opening_.join();
  opening_is_over_ = false;
}

void Keeper::opened(const std::shared_ptr<Session>& session, int error) noexcept {
  if (error == 0) return;
  {
    const std::lock_guard lock(mutex_);
    if (session_ == session) session_.reset();
  }
  admit(nullptr, said([&] { return not_opened(options_, error); }));
}

void Keeper::connected(Session& session) noexcept {
  std::shared_ptr<Session> now;
  {
    const std::lock_guard lock(mutex_);
    if (session_.get() != &session) return;
    hopeless_at_ = BootTime::max();
    now = session_;
  }
  courier_.tick_at(BootTime());
  admit(now, {});
}

void Keeper::disconnected(Session& session) noexcept {
  const BootTime hopeless_at = BootClock::now() + std::max(session.timeout(), options_.session);
  {
    const std::lock_guard lock(mutex_);
    if (session_.get() != &session) return;
    hopeless_at_ = hopeless_at;
  }
  doubt();
  courier_.tick_at(hopeless_at);
}

// Reports what was held as lost before a new session can prove itself alive, because its proof says
// nothing about the old claims.
void Keeper::ended(Session& session, int rc) noexcept {
  const bool expired = rc == ZSESSIONEXPIRED;
  if (!let_go(session, expired)) return;
  tenants_.evict(true);
  courier_.tick_at(BootTime());
  if (!expired) admit(nullptr, said([&] { return problem_of(rc); }));
}

// `wanted`: those that wait get another session. False if it was let go before.
bool Keeper::let_go(const Session& session, bool wanted) noexcept {
  const std::lock_guard lock(mutex_);
  if (session_.get() != &session) return false;
  ended_.push_back(std::move(session_));
  session_.reset();
  wanted_ = wanted && !waiting_.empty();
  doubted_ = false;
  told_ = {};
  hopeless_at_ = BootTime::max();
  return true;
}

BootTime Keeper::tick_hope(BootTime now) noexcept {
  std::shared_ptr<Session> lost;
  {
    const std::lock_guard lock(mutex_);
    if (now < hopeless_at_) return hopeless_at_;
    lost = session_;
  }
  if (!lost || lost->connected() || !let_go(*lost, true)) return BootTime::max();
  lost->abandon();
  tenants_.evict(false);
  return BootTime::max();
}

Problem Keeper::unreachable() {
  const std::lock_guard lock(mutex_);
  return zookeeper::unreachable(options_, hopeless_at_ != BootTime::max());
}

void Keeper::changed(Session& session, const std::string& path, bool deleted) noexcept {
  if (present().get() == &session) tenants_.changed(path, deleted);
}

void Keeper::close() noexcept {
  std::vector<std::shared_ptr<Session>> all;
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    all.swap(ended_);
    if (session_) all.push_back(std::move(session_));
    session_.reset();
  }
  end_opening();
  for (const auto& session : all) session->close();
  admit(nullptr, said(closing));
}

// ── proving it alive ─────────────────────────────────────────────────────────────────────────────

// Reports only some proofs: those in quick succession say nothing new, and each costs a hint.
void Keeper::proved(Session& session, BootTime sent) noexcept {
  const Millis timeout = session.timeout();
  {
    const std::lock_guard lock(mutex_);
    if (session_.get() != &session) return;
    if (sent - told_ < timeout / 24 && !doubted_) return;
    told_ = sent;
    doubted_ = false;
  }
  courier_.tell([sent, timeout](Hints& hints) { hints.alive(sent, timeout); });
}

void Keeper::doubt() noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(doubted_, true)) return;
  }
  courier_.tell([](Hints& hints) { hints.in_doubt(); });
}

void Keeper::depended_on() noexcept { courier_.tick_at(BootClock::now() + options_.session / 6); }

BootTime Keeper::tick(BootTime now) noexcept try {
  const BootTime hopeless_at = tick_hope(now);
  std::vector<std::shared_ptr<Session>> over;
  bool needed = false;
  {
    const std::lock_guard lock(mutex_);
    if (!ended_.empty()) over.swap(ended_);
    needed = wanted_ && !closed_;
  }
  if (opening_is_over_) end_opening();
  if (needed) {
    open(std::move(over));
  } else {
    for (const auto& session : over) session->close();
  }
  return std::min(hopeless_at, tick_proof(now));
} catch (const std::bad_alloc&) {
  return now + Millis(100);
}

BootTime Keeper::tick_proof(BootTime now) {
  if (!tenants_.depend()) return BootTime::max();
  std::shared_ptr<Session> session;
  bool late = false;
  {
    const std::lock_guard lock(mutex_);
    if (!session_ || !session_->connected()) return BootTime::max();  // connected() will tick
    if (now < sync_due_) return sync_due_;
    sync_due_ = now + session_->timeout() / 6;
    late = std::exchange(syncing_, true);
    if (!late) session = session_;
  }
  if (late) {
    doubt();  // the last sync is not answered yet
  } else {
    tenants_.prove(*session);
    sync(session);
  }
  const std::lock_guard lock(mutex_);
  return sync_due_;
}

// Without memory for this sync, the next one is sent all the same.
void Keeper::sync(const std::shared_ptr<Session>& session) {
  const Flow flow = [](Keeper& keeper, std::shared_ptr<Session> asked) -> Flow {
    bool proven = false;
    struct Told {
      ~Told() { keeper.synced(proven); }
      Keeper& keeper;
      const bool& proven;
    } const told{keeper, proven};
    const Outcome outcome = co_await asked->sync("/");
    proven = outcome.rc == ZOK;
  }(*this, session);
  if (!flow.begun) synced(false);
}

void Keeper::synced(bool proven) noexcept {
  {
    const std::lock_guard lock(mutex_);
    syncing_ = false;
  }
  if (!proven) doubt();
}

}  // namespace holdfast::stores::zookeeper
