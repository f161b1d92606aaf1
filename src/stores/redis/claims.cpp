// Tasks for the operations on claims.
#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <numeric>
#include <utility>
#include <vector>

#include "stores/redis/keys.hpp"
#include "stores/redis/store.hpp"
#include "stores/redis/survey.hpp"

namespace holdfast::stores::redis {
namespace {

Problem no_memory() { return {Errc::unavailable, "no_memory", "out of memory"}; }

Answer refusal(Said said, const Problem& problem) noexcept {
  Answer answer;
  answer.said = said;
  try {
    answer.problem = problem;
  } catch (const std::bad_alloc&) {
    answer.problem.errc = problem.errc;
  }
  return answer;
}

// A task that answers one call with one answer.
class AnswerTask : public Task {
 public:
  AnswerTask(RedisStore& store, std::string_view name, Pending<Answer>& call)
      : store_(store), name_(name), call_(call) {
    deadline = call.deadline;
    slot = store.slot_of(name);
  }
  void refuse(Said said, const Problem& problem) noexcept override {
    answer_ = refusal(said, problem);
  }
  void deliver(TaskPtr) noexcept override { call_.done(std::move(answer_)); }

 protected:
  RedisStore& store_;
  const std::string_view name_;
  Pending<Answer>& call_;
  Answer answer_;
};

class AskTask : public AnswerTask {
 public:
  AskTask(RedisStore& store, const Ask& ask, Pending<Answer>& call)
      : AnswerTask(store, ask.name, call), ask_(ask) {
    replicated = store.options().wait_replicas != 0;
  }
  void write(std::string& out, const Link& link) override {
    in_line_ = ask_.queue && store_.subscription().open();
    write_ask(out, ask_, store_.setting(), link.server().run_id, in_line_, by_text);
  }
  void read(const Reply& reply) override { answer_ = read_ask(reply, name_); }
  bool needs_replicas() const noexcept override { return answer_.said == Said::yes; }
  void deliver(TaskPtr self) noexcept override {
    const bool busy = answer_.said == Said::no && answer_.problem.errc == Errc::busy;
    if (busy && ask_.queue && !in_line_ && !std::exchange(passed_, true) && store_.traits().queues)
      return store_.stand_in_line(std::move(self));
    AnswerTask::deliver(std::move(self));
  }

 private:
  const Ask ask_;  // what it points to stays alive until the answer
  bool in_line_ = false;
  bool passed_ = false;  // stand_in_line() was called, and is not called again
};

// An ask for correctness surveys the server first, once per connection. The store remembers only a
// good result, so that a corrected configuration counts at once.
class CarefulAsk final : public AskTask {
 public:
  using AskTask::AskTask;
  void write(std::string& out, const Link& link) override {
    surveys_ = !store_.fit();
    if (!surveys_) return AskTask::write(out, link);
    if (survey_.complete() || survey_.facts().run_id != link.server().run_id) survey_ = {};
    survey_.write(out);
  }
  void read(const Reply& reply) override {
    if (!surveys_) return AskTask::read(reply);
    survey_.read(reply);
    conclude();
  }
  void refuse(Said said, const Problem& problem) noexcept override {
    const bool goes_on = surveys_ && said == Said::no && survey_.refused();
    if (goes_on) return conclude();
    AskTask::refuse(surveys_ ? Said::no : said, problem);  // a survey writes nothing
    surveys_ = false;
  }
  void deliver(TaskPtr self) noexcept override {
    if (surveys_) return store_.send(std::move(self));
    AskTask::deliver(std::move(self));
  }

 private:
  void conclude() noexcept try {
    if (!survey_.complete()) return;
    const Judgement judgement = judge(store_.options(), {&survey_.facts(), 1});
    if (judgement.objection.empty()) return store_.found_fit();
    answer_ = refusal(Said::no, unfit(judgement));
    surveys_ = false;
  } catch (const std::bad_alloc&) {
    answer_ = refusal(Said::no, {Errc::unavailable, {}, {}});
    surveys_ = false;
  }

  Survey survey_;
  bool surveys_ = false;  // the command under way is part of the survey
};

class RevokeTask final : public AnswerTask {
 public:
  RevokeTask(RedisStore& store, std::string_view name, bool now, Pending<Answer>& call)
      : AnswerTask(store, name, call), now_(now) {}
  void write(std::string& out, const Link& link) override {
    write_revoke(out, name_, now_, store_.setting(), link.server().run_id, by_text);
  }
  void read(const Reply& reply) override { answer_ = read_revoke(reply); }

 private:
  const bool now_;
};

// ── several at once ──────────────────────────────────────────────────────────────────────────────

void write_batch(std::string& out, std::span<const Keep> keeps, const Task& task,
                 const Setting& setting, const Link& link) {
  write_renew(out, keeps, setting, link.server().run_id, task.by_text);
}
void write_batch(std::string& out, std::span<const Drop> drops, const Task& task,
                 const Setting& setting, const Link& link) {
  write_release(out, drops, setting, link.server().run_id, task.by_text);
}

// True if a single key of the batch may be the cause.
bool concerns_one_key(const Problem& problem) noexcept {
  return problem.reason == "permission" || problem.reason == "foreign" ||
         problem.reason == "server_error" || problem.reason == "protocol";
}

// One call, sent in parts: a script takes at most most_in_batch keys, in a Cluster all of one slot.
// One bad key must not cost the others their leases, so a part that the server refuses is halved
// until that key is alone.
template <class Item>
class Batch : public std::enable_shared_from_this<Batch<Item>> {
 public:
  Batch(RedisStore& store, std::span<const Item> items, Pending<std::span<Answer>>& call)
      : store_(store), items_(items), answers_(items.size()), call_(call) {
    if (store.setting().cluster && items.size() > 1) sort_by_slot();
  }

  // Allocates all parts before it sends the first, so that all are sent or none.
  void send() {
    TaskQueue parts;
    for (std::size_t first = 0; first < items_.size();) {
      const std::uint16_t slot = store_.slot_of(items_[first].name);
      std::size_t end = first + 1;
      while (end < items_.size() && end - first < most_in_batch &&
             store_.slot_of(items_[end].name) == slot)
        ++end;
      parts.push(std::make_unique<Part>(this->shared_from_this(), first, end - first, slot, false));
      ++left_;
      first = end;
    }
    while (TaskPtr part = parts.pop()) store_.send(std::move(part));
  }

 private:
  class Part final : public Task {
   public:
    Part(std::shared_ptr<Batch> of, std::size_t first, std::size_t size, std::uint16_t of_slot,
         bool is_half)
        : batch_(std::move(of)),
          first_(first),
          is_half_(is_half),
          items_(batch_->items_.subspan(first, size)),
          answers_(std::span(batch_->answers_).subspan(first, size)) {
      deadline = batch_->call_.deadline;
      slot = of_slot;
      replicated = std::is_same_v<Item, Keep> && batch_->store_.options().wait_replicas != 0;
      urgent = !replicated;
    }
    void write(std::string& out, const Link& link) override {
      write_batch(out, items_, *this, batch_->store_.setting(), link);
    }
    void read(const Reply& reply) override {
      if constexpr (std::is_same_v<Item, Keep>) {
        read_renew(reply, answers_);
      } else {
        if (!read_release(reply, answers_)) batch_->store_.found_silenced();
        for (Answer& answer : answers_)
          if ((repeated || is_half_) && answer.problem.reason == "not_held")
            answer.said = Said::yes;
      }
      halve_ = items_.size() > 1 && answers_[0].said == Said::unknown;  // the reply is garbled
    }
    void refused(const Problem& problem) noexcept override {
      refuse(Said::no, problem);
      halve_ = items_.size() > 1 && concerns_one_key(problem);
    }
    bool needs_replicas() const noexcept override {
      return replicated && std::ranges::count(answers_, Said::yes, &Answer::said) > 0;
    }
    void refuse(Said said, const Problem& problem) noexcept override {
      for (Answer& answer : answers_) answer = refusal(said, problem);
    }
    void deliver(TaskPtr) noexcept override {
      if (halve_ && batch_->halve(first_, items_.size(), slot)) return;
      batch_->part_done();
    }

   private:
    const std::shared_ptr<Batch> batch_;
    const std::size_t first_;
    const bool is_half_;  // the part it comes from may have had effects
    const std::span<const Item> items_;
    const std::span<Answer> answers_;
    bool halve_ = false;
  };

  // False if no time or no memory is left; then the answers stand.
  bool halve(std::size_t first, std::size_t size, std::uint16_t slot) noexcept try {
    if (BootClock::now() >= call_.deadline) return false;
    const std::size_t half = size / 2;
    TaskPtr halves[] = {
        std::make_unique<Part>(this->shared_from_this(), first, half, slot, true),
        std::make_unique<Part>(this->shared_from_this(), first + half, size - half, slot, true)};
    ++left_;  // two parts replace one
    for (TaskPtr& each : halves) store_.send(std::move(each));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }

  void sort_by_slot() {
    order_.resize(items_.size());
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::ranges::stable_sort(order_, {},
                             [&](std::size_t at) { return store_.slot_of(items_[at].name); });
    for (const std::size_t at : order_) sorted_.push_back(items_[at]);
    items_ = sorted_;
    in_order_.resize(order_.size());
  }

  void part_done() noexcept {
    if (--left_ > 0) return;
    if (order_.empty()) return call_.done(answers_);
    for (std::size_t i = 0; i < order_.size(); ++i) in_order_[order_[i]] = std::move(answers_[i]);
    call_.done(in_order_);
  }

  RedisStore& store_;
  std::span<const Item> items_;
  std::vector<Answer> answers_;
  Pending<std::span<Answer>>& call_;
  std::atomic<std::size_t> left_{0};
  std::vector<std::size_t> order_;  // in a Cluster: where each sorted item was
  std::vector<Item> sorted_;
  std::vector<Answer> in_order_;
};

}  // namespace

void RedisStore::ask(const Ask& ask, Pending<Answer>& call) noexcept try {
  if (ask.purpose == Purpose::efficiency)
    return send_ask(std::make_unique<AskTask>(*this, ask, call), ask);
  const Judgement arrangement = judge(options_, {});
  if (!arrangement.objection.empty()) return call.done(refusal(Said::no, unfit(arrangement)));
  send_ask(std::make_unique<CarefulAsk>(*this, ask, call), ask);
} catch (const std::bad_alloc&) {
  call.done(refusal(Said::no, no_memory()));
}

void RedisStore::renew(std::span<const Keep> keeps, Pending<std::span<Answer>>& call) noexcept try {
  std::make_shared<Batch<Keep>>(*this, keeps, call)->send();
} catch (const std::bad_alloc&) {
  call.done({});
}

void RedisStore::release(std::span<const Drop> drops, Pending<std::span<Answer>>& call) noexcept
    try {
  std::make_shared<Batch<Drop>>(*this, drops, call)->send();
} catch (const std::bad_alloc&) {
  call.done({});
}

void RedisStore::revoke(std::string_view name, bool now, Pending<Answer>& call) noexcept try {
  send(std::make_unique<RevokeTask>(*this, name, now, call));
} catch (const std::bad_alloc&) {
  call.done(refusal(Said::no, no_memory()));
}

}  // namespace holdfast::stores::redis
