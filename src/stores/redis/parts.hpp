// stores/redis/parts.hpp: a call made of several tasks; the last one to end answers it.
#pragma once

#include <atomic>
#include <memory>
#include <new>
#include <utility>

#include "stores/redis/store.hpp"

namespace holdfast::stores::redis {

template <class Result>
class Whole {
 public:
  Whole(RedisStore& of, Pending<Result>& call) : store(of), deadline(call.deadline), call_(call) {}

  // Reports the first problem, beside what was found. Requires the exchange's mutex, as every use
  // of `result` does while parts are under way.
  void fail(const Problem& problem) noexcept try {
    if (!failed_.exchange(true)) result.problem = problem;
  } catch (const std::bad_alloc&) {
  }
  void lack_memory() noexcept { failed_ = true; }
  bool failed() const noexcept { return failed_; }

  void begin() noexcept { ++left_; }
  void end() noexcept {
    if (--left_ > 0) return;
    try {
      conclude();
    } catch (const std::bad_alloc&) {
      lack_memory();
    }
    if (failed_ && result.problem.errc == Errc{}) result.problem.errc = Errc::unavailable;
    call_.done(std::move(result));
  }

  BootTime looked_at(std::uint64_t keys) noexcept { return call_.looked_at(keys); }

  RedisStore& store;
  const BootTime deadline;
  Result result;

 protected:
  ~Whole() = default;
  virtual void conclude() {}  // runs when all parts have ended

 private:
  Pending<Result>& call_;
  std::atomic<std::size_t> left_{0};
  std::atomic<bool> failed_{false};
};

// A task that counts as one part for as long as it lives.
template <class Of>
class Part : public Task {
 public:
  explicit Part(std::shared_ptr<Of> of) : whole_(std::move(of)) {
    deadline = whole_->deadline;
    whole_->begin();
  }
  ~Part() override { whole_->end(); }
  void refuse(Said, const Problem& problem) noexcept override { whole_->fail(problem); }
  void deliver(TaskPtr) noexcept override {}

 protected:
  const std::shared_ptr<Of> whole_;
};

// `send` sends the parts; the call is not answered before all of them are sent.
template <class Of, class Send>
void start(const std::shared_ptr<Of>& whole, Send&& send) noexcept {
  whole->begin();
  try {
    send();
  } catch (const std::bad_alloc&) {
    whole->lack_memory();
  }
  whole->end();
}

// One part for each server.
template <class EachPart, class Of>
void ask_each(const std::shared_ptr<Of>& whole) noexcept {
  start(whole,
        [&] { whole->store.send_to_each([whole] { return std::make_unique<EachPart>(whole); }); });
}

}  // namespace holdfast::stores::redis
