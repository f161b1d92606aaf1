// What `show --verbose` prints: for each server its identity, whether it knows our scripts and
// whether a quarantine runs; and how this process is connected.
#include <mutex>
#include <utility>
#include <vector>

#include "core/text.hpp"
#include "stores/redis/keys.hpp"
#include "stores/redis/parts.hpp"
#include "stores/redis/request.hpp"
#include "stores/redis/scripts.hpp"
#include "stores/redis/survey.hpp"
#include "stores/redis/trouble.hpp"

namespace holdfast::stores::redis {
namespace {

struct Tour final : Whole<Inspection> {
  using Whole::Whole;
  void tell(std::string_view word, std::string text) {
    result.facts.push_back({std::string(word), std::move(text)});
  }
};

class Stop final : public Part<Tour> {
 public:
  using Part::Part;
  void write(std::string& out, const Link& link) override;
  void read(const Reply& reply) override;
  void refuse(Said said, const Problem& problem) noexcept override;
  void deliver(TaskPtr self) noexcept override {
    if (step_ != Step::end && !whole_->failed()) whole_->store.send(std::move(self));
  }

 private:
  enum class Step : std::uint8_t { survey, scripts, guard, end };

  const Setting& setting() const noexcept { return whole_->store.setting(); }
  void tell(std::string_view word, std::string text) { facts_.push_back({word, std::move(text)}); }
  void go_on();
  void tell_scripts(const Reply& reply);
  void tell_guard(const Reply& reply);

  Step step_ = Step::survey;
  Survey survey_;
  std::string place_;
  std::vector<std::pair<std::string_view, std::string>> facts_;  // reported together, at the end
};

void Stop::write(std::string& out, const Link& link) {
  place_ = net::to_string(link.place());
  switch (step_) {
    case Step::survey: return survey_.write(out);
    case Step::scripts: {
      Request request(out, 2 + all_scripts().size());
      request << "SCRIPT"
              << "EXISTS";
      for (const Script* script : all_scripts()) request << script->sha;
      return;
    }
    case Step::guard:
      return write_mark(out, marker_key(), setting(), link.server().run_id, Marking::look, by_text);
    case Step::end: return;
  }
}

void Stop::read(const Reply& reply) {
  if (step_ == Step::survey) survey_.read(reply);
  if (step_ == Step::scripts) tell_scripts(reply);
  if (step_ == Step::guard) tell_guard(reply);
  go_on();
}

void Stop::refuse(Said said, const Problem& problem) noexcept try {
  const bool dispensable =
      said == Said::no && (step_ == Step::survey ? survey_.refused() : step_ == Step::scripts);
  if (!dispensable) return whole_->fail(problem);
  if (step_ == Step::scripts) tell("scripts", "unknown: " + problem.text);
  go_on();
} catch (const std::bad_alloc&) {
  whole_->lack_memory();
}

void Stop::go_on() {
  if (step_ == Step::survey && !survey_.complete()) return;
  step_ = static_cast<Step>(static_cast<int>(step_) + 1);
  if (step_ == Step::guard && setting().cluster) {
    tell("guard", setting().guard ? "on; each slot has a marker of its own" : "off");
    step_ = Step::end;
  } else if (step_ == Step::guard && !setting().guard) {
    tell("guard", "off");
    step_ = Step::end;
  }
  if (step_ != Step::end) return;
  const Facts& facts = survey_.facts();
  whole_->tell("server", place_);
  whole_->tell("version", core::escaped(facts.version));
  whole_->tell("role", facts.replica ? "replica" : "master");
  whole_->tell("replicas", std::to_string(facts.replicas));
  whole_->tell("run_id", core::escaped(facts.run_id));
  for (auto& [word, text] : facts_) whole_->tell(word, std::move(text));
}

void Stop::tell_scripts(const Reply& reply) {
  std::string loaded, missing;
  for (std::size_t at = 0; at < all_scripts().size(); ++at) {
    std::string& list = reply[at].integer == 1 ? loaded : missing;
    list += (list.empty() ? "" : " ") + std::string(all_scripts()[at]->name);
  }
  tell("scripts", missing.empty() ? loaded + " are loaded"
                                  : "not loaded, sent when they are needed: " + missing);
}

void Stop::tell_guard(const Reply& reply) {
  Mark mark;
  if (!read_mark(reply, mark)) return whole_->fail(protocol_problem());
  if (!mark.ours) return tell("guard", "on; not marked yet: its first use begins a quarantine");
  if (mark.quarantine == Millis(0)) return tell("guard", "on; no quarantine");
  tell("guard", "on; quarantine for another " +
                    std::to_string((mark.quarantine.count() + 999) / 1000) + " s");
}

// Finds out whether this process receives messages and may send them, by doing what an ask does:
// first a plain try, then one that stands in line.
class Rehearsed final : public Part<Tour> {
 public:
  using Part::Part;
  void write(std::string& out, const Link&) override { Request(out, 1) << "PING"; }
  void read(const Reply&) override {}
  void refuse(Said, const Problem& problem) noexcept override try {
    problem_ = problem;
  } catch (const std::bad_alloc&) {
    problem_.errc = problem.errc;
  }
  void deliver(TaskPtr self) noexcept override {
    if (problem_.errc == Errc{} && !std::exchange(in_line_, true))
      return whole_->store.stand_in_line(std::move(self));
    conclude();
    ask_each<Stop>(whole_);
  }

 private:
  void conclude() noexcept;

  bool in_line_ = false;
  Problem problem_;
};

void Rehearsed::conclude() noexcept try {
  const std::lock_guard lock(whole_->store.mutex());
  const Subscription& subscription = whole_->store.subscription();
  whole_->tell("messages", subscription.open()       ? "listens for them"
                           : subscription.refused()  ? "may not listen: waiters ask again and again"
                           : problem_.errc != Errc{} ? "none: " + problem_.text
                                                     : "does not listen");
} catch (const std::bad_alloc&) {
  whole_->lack_memory();
}

std::string tls_in(const Options& options) {
  if (!options.tls) return "off";
  return options.tls->verifies() ? "on; certificates are checked"
                                 : "on; certificates are not checked: insecure=on";
}

}  // namespace

void RedisStore::inspect(Pending<Inspection>& call) noexcept try {
  const auto tour = std::make_shared<Tour>(*this, call);
  tour->tell("tls", tls_in(options_));
  {
    const std::lock_guard lock(exchange_.mutex());
    tour->tell("connections", std::to_string(exchange_.connections()));
  }
  if (traits_.notifies) return start(tour, [&] { send(std::make_unique<Rehearsed>(tour)); });
  tour->tell("messages", "none: waiters ask again and again");
  ask_each<Stop>(tour);
} catch (const std::bad_alloc&) {
  Inspection inspection;
  inspection.problem.errc = Errc::unavailable;
  call.done(std::move(inspection));
}

}  // namespace holdfast::stores::redis
