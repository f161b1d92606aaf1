// tests/stores/recorder.hpp: calls and hints that remember what they were told, for tests that
// stand in for the core.
#pragma once

#include <gtest/gtest.h>
#include <sys/random.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "holdfast/backend.hpp"
#include "support/eventually.hpp"
#include "support/own_clock.hpp"

namespace holdfast::testing_support {

using namespace std::chrono_literals;

inline BootTime in(Millis time) { return BootClock::now() + time; }

// Without a mutex, because tests fork.
inline ClaimId fresh_claim() {
  ClaimId claim;
  if (getrandom(claim.data(), claim.size(), 0) != std::ssize(claim))
    throw std::runtime_error("no random bytes");
  return claim;
}

template <class R>
class Recorded final : public Pending<R> {
 public:
  explicit Recorded(Millis patience = support::patient) {
    this->deadline = BootClock::now() + patience;
  }
  BootTime looked_at(std::uint64_t keys) noexcept override {
    return on_page ? on_page(keys) : Pending<R>::looked_at(keys);
  }
  void done(R answer) noexcept override {
    times.fetch_add(1);
    value = std::move(answer);
    if (then) then();
    this->finished_.store(true, std::memory_order_release);
  }
  R value{};
  std::atomic<int> times{0};
  std::function<void()> then;
  std::function<BootTime(std::uint64_t)> on_page;
};

template <>
class Recorded<std::span<Answer>> final : public Pending<std::span<Answer>> {
 public:
  explicit Recorded(Millis patience = support::patient) {
    this->deadline = BootClock::now() + patience;
  }
  void done(std::span<Answer> answers) noexcept override {
    times.fetch_add(1);
    value.assign(std::make_move_iterator(answers.begin()), std::make_move_iterator(answers.end()));
    this->finished_.store(true, std::memory_order_release);
  }
  std::vector<Answer> value;
  std::atomic<int> times{0};
};

class RecordingHints final : public Hints {
 public:
  struct Granted {
    std::string name;
    ClaimId claim;
    Answer answer;
  };
  void granted(std::string_view name, const ClaimId& claim,
               const Answer& answer) noexcept override {
    note([&] { grants_.push_back({std::string(name), claim, answer}); });
  }
  void look(std::string_view name) noexcept override {
    note([&] { looks_.emplace_back(name); });
  }
  void gone(std::string_view, const ClaimId& claim) noexcept override {
    note([&] { gone_.push_back(claim); });
  }
  void alive(BootTime, Millis) noexcept override {}
  void warn(const Problem&) noexcept override {}
  void in_doubt() noexcept override {}

  std::vector<Granted> grants() const { return copy(grants_); }
  std::vector<std::string> looks() const { return copy(looks_); }
  std::vector<ClaimId> gones() const { return copy(gone_); }

 private:
  template <class Note>
  void note(Note&& note) {
    std::lock_guard lock(mutex_);
    note();
  }
  template <class T>
  T copy(const T& kept) const {
    std::lock_guard lock(mutex_);
    return kept;
  }
  mutable std::mutex mutex_;
  std::vector<Granted> grants_;
  std::vector<std::string> looks_;
  std::vector<ClaimId> gone_;
};

// One open store and the core's part in it: starts a call, lends the thread, returns the answer.
class Client {
 public:
  explicit Client(std::unique_ptr<Backend> (*open)(const Opening&, Problem&), const Url& url) {
    backend_ = open(Opening{url, hints, nullptr}, problem);
  }
  Backend& backend() { return *backend_; }
  explicit operator bool() const { return backend_ != nullptr; }
  void close() { backend_.reset(); }

  static Ask wanting(std::string_view name, const ClaimId& claim, bool queue = false,
                     Millis ttl = 30s) {
    Ask ask;
    ask.name = name;
    ask.claim = claim;
    ask.ttl = ttl;
    ask.queue = queue;
    ask.about = "a test";
    return ask;
  }
  Answer ask(const Ask& ask, Millis patience = support::patient) {
    Recorded<Answer> call(patience);
    backend_->ask(ask, call);
    return finish(call);
  }
  Answer ask(std::string_view name, const ClaimId& claim, bool queue = false, Millis ttl = 30s) {
    return ask(wanting(name, claim, queue, ttl));
  }
  Answer renew(std::string_view name, const ClaimId& claim, Millis ttl = 30s) {
    const Keep keep{name, claim, 1, ttl};
    Recorded<std::span<Answer>> call;
    backend_->renew({&keep, 1}, call);
    return finish(call).at(0);
  }
  Answer release(std::string_view name, const ClaimId& claim, bool doubtful = false) {
    const Drop drop{name, claim, doubtful, 30s};
    Recorded<std::span<Answer>> call;
    backend_->release({&drop, 1}, call);
    return finish(call).at(0);
  }
  Answer revoke(std::string_view name, bool now) {
    Recorded<Answer> call;
    backend_->revoke(name, now, call);
    return finish(call);
  }
  Listing describe(std::string_view name) {
    Recorded<Listing> call;
    backend_->describe(name, call);
    return finish(call);
  }
  Listing list(std::string_view prefix = {}) {
    Recorded<Listing> call;
    return list(prefix, call);
  }
  // Each page takes longer than the whole call has at first.
  Listing list_slowly(std::string_view prefix = {}) {
    Recorded<Listing> call;
    int pages = 0;
    call.on_page = [&](std::uint64_t) {
      ++pages;
      support::jump(2 * support::patient);
      return in(support::patient);
    };
    Listing listing = list(prefix, call);
    EXPECT_GT(pages, 1);
    return listing;
  }
  Cell add(const Add& add) {
    return cell([&](auto& call) { backend_->cells()->add(add, call); });
  }
  Cell swap(const Swap& swap) {
    return cell([&](auto& call) { backend_->cells()->swap(swap, call); });
  }
  Cell get(std::string_view name) {
    return cell([&](auto& call) { backend_->cells()->get(name, call); });
  }
  Promise guarantees() {
    Recorded<Promise> call;
    backend_->guarantees(call);
    return finish(call);
  }
  Answer init(Init what = Init::missing) {
    Recorded<Answer> call;
    backend_->init(what, call);
    return finish(call);
  }

  // Stays for messages until the condition holds.
  bool stay_until(const std::function<bool()>& condition, Millis patience = support::patient) {
    const BootTime end = BootClock::now() + patience;
    while (!condition() && BootClock::now() < end)
      backend_->help(nullptr, BootClock::now() + 10ms, -1);
    return condition();
  }

  RecordingHints hints;
  Problem problem;

 private:
  template <class Start>
  Cell cell(Start&& start) {
    Recorded<Cell> call;
    start(call);
    return finish(call);
  }
  Listing list(std::string_view prefix, Recorded<Listing>& call) {
    backend_->list(prefix, call);
    return finish(call, 1000 * support::patient);  // a test may move the clock ahead
  }
  template <class Call>
  auto finish(Call& call, Millis bound = 2 * support::patient) -> decltype(call.value) {
    backend_->help(&call, BootClock::now() + bound, -1);
    EXPECT_TRUE(call.finished());
    EXPECT_EQ(call.times, 1);
    return std::move(call.value);
  }
  std::unique_ptr<Backend> backend_;
};

}  // namespace holdfast::testing_support
