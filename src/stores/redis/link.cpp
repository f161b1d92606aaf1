#include "stores/redis/link.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <random>

#include "stores/redis/request.hpp"
#include "stores/redis/trouble.hpp"

namespace holdfast::stores::redis {
namespace {

constexpr Millis connect_within{3000};
constexpr Millis first_rest{20}, longest_rest{1000};
constexpr Millis rest_after_denial{3000};     // three connections: less than one try a second
constexpr Millis spare_after_denial{60'000};  // too rare to count beside those

Millis rest_after(int failures) {
  thread_local std::minstd_rand random(std::random_device{}());
  const auto most = std::min(longest_rest, first_rest * (1 << std::min(failures, 10)));
  return Millis(std::uniform_int_distribution<Millis::rep>(most.count() / 2, most.count())(random));
}

Problem lost_connection(const net::Place& place, const net::Flow& flow) {
  const std::string why = flow.error == 0 ? "it closed the connection" : std::strerror(flow.error);
  return {Errc::unavailable, "disconnected", net::to_string(place) + ": " + why};
}

}  // namespace

Link::Link(net::Place place, Use use, const Options& options, Listener& listener)
    : place_(std::move(place)), use_(use), options_(options), listener_(listener) {
  if (use == Use::commands) spares_ = most_spares;
}

Link::~Link() = default;

// ── tasks ────────────────────────────────────────────────────────────────────────────────────────

bool Link::submit(TaskPtr&& task, BootTime now) {
  if (use_ == Use::spare) prepare(now);
  unattended_ = unattended() || task->unattended;
  if (state_ == State::ready) {
    send_off(std::move(task), now);
    return false;
  }
  if (state_ == State::closed && now < rest_until_ && !task->patient) {
    task->refuse(Said::no, problem_);
    listener_.finished(std::move(task));
    return false;
  }
  deadline_ = std::min(deadline_, task->deadline);
  watch(*task, now);
  waiting_.emplace_back();
  waiting_.back() = std::move(task);
  guarded([&] { open(now); });
  return true;
}

// If memory runs out, this changes nothing and the caller keeps the task.
void Link::send_off(TaskPtr&& task, BootTime now) {
  const std::size_t written = out_.size();
  const std::size_t expected = sent_.size();
  try {
    if (task->asking) {
      Request(out_, 1) << "ASKING";
      sent_.emplace_back();
    }
    task->write(out_, *this);
    sent_.emplace_back();
  } catch (...) {
    out_.resize(written);
    sent_.resize(expected);
    throw;
  }
  if (expected == 0) heard_at_ = now;
  deadline_ = std::min(deadline_, task->deadline);
  watch(*task, now);
  task->via = this;
  if (use_ == Use::acknowledged && task->replicated) unproven_out_ = true;
  sent_.back() = std::move(task);
}

void Link::answered(TaskPtr&& task, const Reply& reply) {
  if (reply.is_error()) {
    if (refusal_of(reply) == Refusal::no_script && !task->by_text) {
      task->by_text = true;
      return send_off(std::move(task), heard_at_);
    }
    if (listener_.redirected(task, *this, reply)) return;
    task->refused(problem_of(reply));
  } else {
    task->read(reply);
    if (use_ == Use::acknowledged && task->needs_replicas()) return await_replicas(std::move(task));
  }
  listener_.finished(std::move(task));
}

// A task whose reply could not be read for lack of memory is answered `unknown`.
void Link::answer(TaskPtr task, const Reply& reply) try {
  answered(std::move(task), reply);
} catch (const std::bad_alloc&) {
  if (task) {
    task->refuse(Said::unknown, {Errc::unavailable, "no_memory", {}});
    listener_.finished(std::move(task));
  }
  throw;
}

void Link::redirect_waiting(TaskQueue& to) noexcept {
  for (TaskPtr& task : waiting_)
    if (task) to.push(std::move(task));
  waiting_.clear();
}

void Link::fail_all(const Problem& problem) noexcept {
  const auto fail = [&](std::deque<TaskPtr>& tasks, Said said) {
    for (TaskPtr& task : tasks) {
      if (!task || (task->patient && said == Said::no)) continue;
      task->refuse(said, problem);
      listener_.finished(std::move(task));
    }
    std::erase(tasks, nullptr);
  };
  fail(unproven_, Said::unknown);
  fail(sent_, Said::unknown);
  fail(waiting_, Said::no);
  deadline_ = BootTime::max();
  for (const TaskPtr& task : waiting_) deadline_ = std::min(deadline_, task->deadline);
}

void Link::expire(BootTime now) {
  if (now < deadline_) return;
  const std::string place = net::to_string(place_), unready = awaited();
  deadline_ = BootTime::max();
  bool silent = false;
  const auto sweep = [&](std::deque<TaskPtr>& tasks, Said said, const char* reason,
                         const std::string& text) {
    for (TaskPtr& task : tasks) {
      if (!task) continue;
      if (task->deadline > now) {
        deadline_ = std::min(deadline_, task->deadline);
        continue;
      }
      silent = silent || (said == Said::unknown && now - heard_at_ >= task->silence);
      task->refuse(said, task->put_off ? *task->put_off : Problem{Errc::unavailable, reason, text});
      listener_.finished(std::move(task));
    }
  };
  sweep(waiting_, Said::no, "unreachable", unready);
  sweep(sent_, Said::unknown, "no_answer", "no answer from " + place);
  sweep(unproven_, Said::unknown, "not_replicated", "no answer yet from the replicas of " + place);
  if (silent) give_up({Errc::unavailable, "no_answer", "no answer from " + place});
}

// Why it is not ready, if no error says so.
std::string Link::awaited() const {
  const std::string place = net::to_string(place_);
  if (!connected()) return "no connection yet to " + place;
  const char* const hint = state_ == State::securing ? "; does it speak TLS on this port?" : "";
  return place + " accepted the connection and says nothing" + hint;
}

bool Link::free() const noexcept {
  return reset() && !dial_ && idle() && unproven_.empty() && polled == 0 && !sending_now_ &&
         (!relief_ || relief_->free());
}

void Link::move_to(net::Place place) {
  if (relief_) relief_->move_to(place);
  place_ = std::move(place);
  server_ = {};
  wanted_until_ = rest_until_ = {};
  failures_ = 0;
}

// ── the connection ───────────────────────────────────────────────────────────────────────────────

void Link::open(BootTime now) {
  reap();
  if (reset() && now >= rest_until_) dial(now);
}

void Link::dial(BootTime now) {
  const Millis within = use_ == Use::spare ? short_try(connect_within) : connect_within;
  dial_ = std::make_unique<net::Dial>(place_, now + within);
  phase_until_ = now + within;
  state_ = State::dialing;
}

void Link::dialed(BootTime now) {
  switch (dial_->step(now)) {
    case net::Dial::State::trying: return;
    case net::Dial::State::failed:
      return now < phase_until_ ? close(dial_->problem()) : give_up(dial_->problem());
    case net::Dial::State::connected: break;
  }
  socket_ = dial_->take();
  phase_until_ = now + connect_within;
  net::set_patience(socket_.get(), patience);
  heard_at_ = now;
  if (options_.tls) {
    tls_ = std::make_unique<net::Tls>(options_.tls, place_.host);
    state_ = State::securing;
    take_in();
  } else {
    greet();
  }
}

// The shutdown wakes threads that use the descriptor; once they let go of it, reap() closes it.
void Link::close(const Problem& why) noexcept {
  if (state_ == State::closed) return;
  const bool greeted_once = state_ == State::ready;
  state_ = State::closed;
  phase_until_ = BootTime::max();
  if (socket_) ::shutdown(socket_.get(), SHUT_RDWR);
  problem_ = why;
  failures_ = greeted_once ? 0 : failures_ + 1;
  const bool spare = use_ == Use::spare;
  const Millis rest = why.errc == Errc::denied ? (spare ? spare_after_denial : rest_after_denial)
                      : failures_ == 0         ? Millis(0)
                                               : rest_after(spare ? short_failures() : failures_);
  rest_until_ = BootClock::now() + rest;
  fail_all(why);
  reap();
  listener_.broke(*this);
}

void Link::reap() noexcept {
  if (state_ != State::closed || polled > 0 || sending_now_) return;
  dial_.reset();
  socket_ = Descriptor();
  tls_.reset();
  greetings_.clear();
  reader_ = Reader();
  cipher_.clear();
  out_.clear();
  sending_.clear();
  sent_bytes_ = 0;
  blocked_ = false;
  unproven_out_ = false;
}

int Link::descriptor() const noexcept {
  if (state_ == State::closed) return -1;
  return state_ == State::dialing ? dial_->descriptor() : socket_.get();
}

short Link::events() const noexcept {
  if (state_ == State::dialing) return dial_->events();
  return static_cast<short>(blocked_ ? POLLIN | POLLOUT : POLLIN);
}

BootTime Link::next() const noexcept {
  BootTime next = std::min({deadline_, phase_until_, late_at_});
  if (state_ == State::dialing) next = std::min(next, dial_->next());
  if (state_ == State::closed && wanted()) next = std::min(next, rest_until_);
  return next;
}

void Link::tick(BootTime now) noexcept {
  guarded([&] {
    expire(now);
    if (state_ == State::dialing) {
      dialed(now);
    } else if (state_ == State::closed) {
      reap();
      if (wanted_until_ <= now) wanted_until_ = {};
      if (wanted()) open(now);
    } else if (now >= phase_until_) {
      give_up({Errc::unavailable, "no_answer", awaited()});
    } else if (use_ == Use::spare && idle() && wanted_until_ <= now) {
      close({Errc::unavailable, "disconnected", "not needed any more"});
    }
  });
}

void Link::step(BootTime now, short ready, bool received) noexcept {
  if (connected() && (ready & POLLOUT)) blocked_ = false;
  if (received) {
    if (connected()) {
      if (received_flow_.bytes > 0) heard_at_ = now;  // receive() may have timed out
      guarded([&] { take_in(); });
    }
    receiving_.store(false, std::memory_order_release);
  }
  tick(now);
}

// ── bytes ────────────────────────────────────────────────────────────────────────────────────────

bool Link::begin_send(BootTime now) {
  if (state_ < State::securing || sending_now_ || blocked_) return false;
  if (sending_.empty()) {
    if (unproven_out_) ask_replicas(now);
    if (!tls_) {
      std::swap(out_, sending_);
    } else {
      if (tls_->ready() && !out_.empty()) {
        tls_->write(out_);
        out_.clear();
      }
      std::swap(tls_->outgoing(), sending_);
    }
  }
  if (sending_.empty()) return false;
  if (sent_.empty()) heard_at_ = now;
  sending_now_ = true;
  return true;
}

void Link::send() noexcept {
  do {
    sending_flow_ = net::send_some(socket_.get(), std::span(sending_).subspan(sent_bytes_));
    sent_bytes_ += sending_flow_.bytes;
  } while (sending_flow_.end == net::Flow::End::open && sent_bytes_ < sending_.size());
}

void Link::end_send() {
  sending_now_ = false;
  if (state_ == State::closed) return reap();
  if (sent_bytes_ == sending_.size()) {
    sending_.clear();
    sent_bytes_ = 0;
  } else if (sending_flow_.end == net::Flow::End::would_block) {
    blocked_ = true;
  } else {
    close(lost_connection(place_, sending_flow_));
  }
}

bool Link::receive(bool wait) noexcept try {
  if (receiving_.exchange(true, std::memory_order_acquire)) return false;
  if (tls_) cipher_.resize(std::size_t{16} << 10);
  const std::span<char> room = tls_ ? std::span(cipher_) : reader_.room();
  received_flow_ =
      wait ? net::await_some(socket_.get(), room) : net::receive_some(socket_.get(), room);
  return true;
} catch (const std::bad_alloc&) {
  received_flow_ = {0, net::Flow::End::failed, ENOMEM};
  return true;
}

void Link::take_in() {
  const net::Flow flow = std::exchange(received_flow_, {});
  if (tls_) {
    Problem problem;
    tls_->received(std::span(cipher_).first(flow.bytes));
    if (!tls_->step(problem)) return close(problem);
    if (state_ == State::securing && tls_->ready()) greet();
    while (state_ != State::closed) {
      const std::size_t plain = tls_->read(reader_.room());
      if (plain == 0) break;
      reader_.filled(plain);
      read_replies();
    }
  } else if (flow.bytes > 0) {
    reader_.filled(flow.bytes);
    read_replies();
  }
  if (state_ != State::closed && flow.end != net::Flow::End::open &&
      flow.end != net::Flow::End::would_block)
    close(lost_connection(place_, flow));
}

void Link::read_replies() {
  Reply reply;
  for (;;) {
    switch (reader_.next(reply)) {
      case Reader::Step::more: return;
      case Reader::Step::broken:
        return close({Errc::unavailable, "protocol",
                      net::to_string(place_) + " does not speak Redis: " + reader_.why()});
      case Reader::Step::reply: break;
    }
    if (state_ == State::greeting) {
      greeted(reply);
    } else if (sent_.empty() || reply[0].text == "message") {
      listener_.pushed(*this, reply);
    } else {
      TaskPtr task = std::move(sent_.front());
      sent_.pop_front();
      if (sent_.empty()) late_at_ = BootTime::max();
      if (task) answer(std::move(task), reply);
    }
    if (state_ == State::closed) return;
  }
}

}  // namespace holdfast::stores::redis
