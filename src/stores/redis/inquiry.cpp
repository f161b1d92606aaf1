// What the store is asked about itself.
#include <algorithm>
#include <vector>

#include "stores/redis/keys.hpp"
#include "stores/redis/parts.hpp"
#include "stores/redis/survey.hpp"
#include "stores/redis/trouble.hpp"

namespace holdfast::stores::redis {
namespace {

// ── guarantees ───────────────────────────────────────────────────────────────────────────────────

struct Inquiry final : Whole<Promise> {
  using Whole::Whole;
  void conclude() override { result.guarantees = judge(store.options(), servers).guarantees; }

  std::vector<Facts> servers;
};

class ServerSurvey final : public Part<Inquiry> {
 public:
  using Part::Part;
  void write(std::string& out, const Link&) override { survey_.write(out); }
  void read(const Reply& reply) override {
    survey_.read(reply);
    if (survey_.complete()) whole_->servers.push_back(survey_.facts());
  }
  void refuse(Said said, const Problem& problem) noexcept override try {
    if (said != Said::no || !survey_.refused()) return whole_->fail(problem);
    whole_->servers.push_back(survey_.facts());
  } catch (const std::bad_alloc&) {
    whole_->lack_memory();
  }
  void deliver(TaskPtr self) noexcept override {
    if (!survey_.complete() && !whole_->failed()) whole_->store.send(std::move(self));
  }

 private:
  Survey survey_;
};

// ── the guard's markers ──────────────────────────────────────────────────────────────────────────

constexpr std::uint32_t most_marks = 256;  // under way at a time

struct Initiation final : Whole<Answer> {
  Initiation(RedisStore& of, Pending<Answer>& call)
      : Whole(of, call), markers(of.setting().cluster ? slots : 1) {}

  void conclude() override {
    if (failed()) result.said = Said::no;  // marking again does no harm
    if (failed() || quarantine == Millis(0)) return;
    result.said = Said::no;
    result.problem = {Errc::unavailable, "quarantine",
                      "it is not new, and may have forgotten locks that are still held; it grants "
                      "none for another " +
                          std::to_string((quarantine.count() + 999) / 1000) + " s"};
  }

  const std::uint32_t markers;
  std::atomic<std::uint32_t> next{0};
  Millis quarantine{0};  // the longest that is left anywhere
};

// Marks one slot after the other. A marker of a former run is left to begin its quarantine now.
class Marker final : public Part<Initiation> {
 public:
  using Part::Part;
  bool take() noexcept {
    const std::uint32_t taken = whole_->next++;
    slot = static_cast<std::uint16_t>(taken);
    redirections = 0;
    by_text = false;
    marking_ = Marking::first;
    return taken < whole_->markers;
  }
  void write(std::string& out, const Link& link) override {
    const Setting& setting = whole_->store.setting();
    write_mark(out, setting.cluster ? marker_key(slot) : marker_key(), setting,
               link.server().run_id, marking_, by_text);
  }
  void read(const Reply& reply) override {
    Mark mark;
    if (!read_mark(reply, mark)) return whole_->fail(protocol_problem());
    marked_ = mark.ours;
    if (!marked_ && marking_ == Marking::touch)
      return whole_->fail({Errc::unavailable, "not_marked", "the server takes no marker now"});
    whole_->quarantine = std::max(whole_->quarantine, mark.quarantine);
    marking_ = Marking::touch;
  }
  void deliver(TaskPtr self) noexcept override {
    if (!whole_->failed() && (!marked_ || take())) whole_->store.send(std::move(self));
  }

 private:
  Marking marking_ = Marking::first;
  bool marked_ = false;
};

}  // namespace

void RedisStore::guarantees(Pending<Promise>& call) noexcept try {
  ask_each<ServerSurvey>(std::make_shared<Inquiry>(*this, call));
} catch (const std::bad_alloc&) {
  Promise promise;
  promise.problem.errc = Errc::unavailable;
  call.done(std::move(promise));
}

// Without a guard there is nothing to mark: the scripts come with the first connection.
void RedisStore::init(Pending<Answer>& call) noexcept try {
  if (!setting().guard) return call.done({});
  const auto whole = std::make_shared<Initiation>(*this, call);
  start(whole, [&] {
    for (std::uint32_t i = 0; i < std::min(whole->markers, most_marks); ++i) {
      auto marker = std::make_unique<Marker>(whole);
      marker->take();
      send(std::move(marker));
    }
  });
} catch (const std::bad_alloc&) {
  Answer answer;
  answer.said = Said::no;
  answer.problem.errc = Errc::unavailable;
  call.done(std::move(answer));
}

}  // namespace holdfast::stores::redis
