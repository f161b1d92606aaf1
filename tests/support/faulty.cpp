#include "support/faulty.hpp"

#include <poll.h>

#include <algorithm>
#include <list>
#include <map>

#include "support/eventually.hpp"
#include "support/faulty_plan.hpp"
#include "support/world.hpp"

namespace holdfast::support {

namespace {

using Plan = FaultyClient::Plan;

// Module::open is a plain function, so it finds its plan by the number in the URL.
struct Plans {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<Plan>> all;
};
Plans& plans() {
  static Plans instance;
  return instance;
}

std::string enlist(const std::shared_ptr<Plan>& plan) {
  const std::lock_guard guard(plans().mutex);
  auto number = std::to_string(plans().all.size() + 1);
  plans().all[number] = plan;
  return number;
}

// An Ask that owns the strings it refers to.
struct KeptAsk {
  explicit KeptAsk(const Ask& from) : ask(from), name(from.name), about(from.about) {
    ask.name = name;
    ask.about = about;
  }
  Ask ask;
  std::string name, about;
};

// Takes answers that nobody waits for.
template <class R>
class Sink final : public Pending<R> {
 public:
  void done(R) noexcept override { this->finished_.store(true, std::memory_order_release); }
};

Answer spoiled_answer(Said said, const char* text) {
  Answer answer;
  answer.said = said;
  answer.problem = {Errc::unavailable, "injected", text};
  return answer;
}
Answer unknown() { return spoiled_answer(Said::unknown, "the answer was lost by the test"); }
Answer refused() { return spoiled_answer(Said::no, "the request was refused by the test"); }

class FaultyBackend final : public Backend {
 public:
  FaultyBackend(Hints& client, std::shared_ptr<Plan> plan)
      : plan_(std::move(plan)), messages_(client, plan_) {
    plan_->client = &client;
  }
  ~FaultyBackend() override {
    const std::lock_guard guard(plan_->mutex);
    plan_->real = nullptr;
  }
  bool connect(const Opening& opening, const Url& url, Problem& problem) {
    real_ = opening.other(url, messages_, problem);
    const std::lock_guard guard(plan_->mutex);
    plan_->real = real_.get();
    if (!real_) return false;
    traits_ = plan_->traits = real_->traits();
    traits_.queues &= plan_->manners.queues;
    traits_.notifies &= plan_->manners.notifies;
    traits_.tokens &= plan_->manners.tokens;
    traits_.immediate = false;  // The thread that helps answers silent and slow calls.
    return true;
  }

  const Traits& traits() const noexcept override { return traits_; }
  Cells* cells() noexcept override { return real_->cells(); }
  void guarantees(Pending<Promise>& call) noexcept override { real_->guarantees(call); }
  void init(Init what, Pending<Answer>& call) noexcept override { real_->init(what, call); }
  void inspect(Pending<Inspection>& call) noexcept override { real_->inspect(call); }
  void revoke(std::string_view name, bool now, Pending<Answer>& call) noexcept override {
    real_->revoke(name, now, call);
  }
  int readable() const noexcept override { return real_->readable(); }
  void close(BootTime until) noexcept override { real_->close(until); }

  void ask(const Ask& ask, Pending<Answer>& call) noexcept override {
    const auto fault = plan_->strike(asks);
    if (fault == Fault::late_request) {
      const std::lock_guard guard(plan_->mutex);
      plan_->late.emplace_back([kept = std::make_shared<KeptAsk>(ask)](Backend& real) {
        Sink<Answer> sink;
        sink.deadline = BootClock::now() + patient;
        real.ask(kept->ask, sink);
        while (!sink.finished()) real.help(&sink, sink.deadline, -1);
      });
    }
    Ask sent = ask;
    sent.queue &= traits_.queues;
    spoil<Answer>(fault, call, [&](auto& to) { real_->ask(sent, to); });
  }
  void renew(std::span<const Keep> keeps, Pending<std::span<Answer>>& call) noexcept override {
    spoil<std::span<Answer>>(
        plan_->strike(renewals), call, [&](auto& to) { real_->renew(keeps, to); }, keeps.size());
  }
  void release(std::span<const Drop> drops, Pending<std::span<Answer>>& call) noexcept override {
    spoil<std::span<Answer>>(
        plan_->strike(releases), call, [&](auto& to) { real_->release(drops, to); }, drops.size());
  }
  void describe(std::string_view name, Pending<Listing>& call) noexcept override {
    spoil<Listing>(plan_->strike(lists), call, [&](auto& to) { real_->describe(name, to); });
  }
  void list(std::string_view prefix, Pending<Listing>& call) noexcept override {
    spoil<Listing>(plan_->strike(lists), call, [&](auto& to) { real_->list(prefix, to); });
  }

  void help(const Call* call, BootTime until, int wake) noexcept override {
    if (call == nullptr) {
      ++plan_->readers;
      real_->help(nullptr, std::min(until, answer_silence()), wake);
      --plan_->readers;
      return;
    }
    do {
      const auto next = answer_silence();
      if (call->finished()) return;
      real_->help(relayed(call), std::min(until, next), wake);
    } while (!call->finished() && BootClock::now() < until && !readable(wake));
  }

 private:
  // Takes the real store's answer to a call, to lose it or to delay it.
  template <class R>
  class Relay final : public Pending<R> {
   public:
    Relay(FaultyBackend& backend, Pending<R>& call, std::size_t size, bool lose)
        : backend_(backend), call_(call), size_(size), lose_(lose) {
      this->deadline = call.deadline;
    }
    BootTime looked_at(std::uint64_t keys) noexcept override { return call_.looked_at(keys); }
    void done(R answer) noexcept override {
      this->finished_.store(true, std::memory_order_release);
      if (!lose_) return backend_.answer_late(call_, owned(std::move(answer)));
      spoiled(call_, unknown(), size_);
      backend_.forget(&call_, this);
    }

   private:
    FaultyBackend& backend_;
    Pending<R>& call_;
    std::size_t size_;
    bool lose_;
  };
  struct Silent {
    const Call* call;
    BootTime due;
    std::function<void()> answer;
  };

  template <class R>
  static void spoiled(Pending<R>& call, const Answer& answer, std::size_t size) {
    if constexpr (std::is_same_v<R, Answer>) {
      call.done(answer);
    } else if constexpr (std::is_same_v<R, Listing>) {
      call.done({{}, answer.problem});
    } else {
      std::vector<Answer> all(size, answer);
      call.done(all);
    }
  }

  static Answer owned(Answer answer) { return answer; }
  static Listing owned(Listing answer) { return answer; }
  static std::vector<Answer> owned(std::span<Answer> answers) {
    return {answers.begin(), answers.end()};
  }

  template <class R, class Kept>
  void answer_late(Pending<R>& call, Kept kept) {
    const std::lock_guard guard(mutex_);
    relay_of_.erase(&call);
    silent_.push_back(
        {&call, call.deadline - Millis(10), [&call, kept]() mutable { call.done(kept); }});
    ++plan_->unanswered;
  }

  template <class R, class Start>
  void spoil(std::optional<Fault> fault, Pending<R>& call, Start start, std::size_t size = 1) {
    if (!fault) return start(call);
    if (*fault == Fault::refusal) return spoiled(call, refused(), size);
    if (*fault == Fault::silence) {
      const std::lock_guard guard(mutex_);
      silent_.push_back({&call, call.deadline, [&call, size] { spoiled(call, unknown(), size); }});
      ++plan_->unanswered;
      return;
    }
    const bool applied = *fault == Fault::lost_reply || *fault == Fault::slow_reply;
    if (!applied) return spoiled(call, unknown(), size);
    auto relay = std::make_shared<Relay<R>>(*this, call, size, *fault == Fault::lost_reply);
    {
      const std::lock_guard guard(mutex_);
      relays_.push_back(relay);  // kept to the end, because a helper looks at it after its answer
      relay_of_[&call] = relay.get();
    }
    start(*relay);
  }

  void forget(const Call* call, const Call* relay) {
    const std::lock_guard guard(mutex_);
    // A new call may have the address of the old one.
    const auto found = relay_of_.find(call);
    if (found != relay_of_.end() && found->second == relay) relay_of_.erase(found);
  }
  // The call that the real store knows: this one, its relay, or none.
  const Call* relayed(const Call* call) {
    const std::lock_guard guard(mutex_);
    if (const auto found = relay_of_.find(call); found != relay_of_.end()) return found->second;
    return std::ranges::count(silent_, call, &Silent::call) == 0 ? call : nullptr;
  }

  // Answers what is due; returns when to look again. That is soon, because a jump of our clock does
  // not wake a thread that sleeps in the real store.
  BootTime answer_silence() {
    std::list<Silent> due;
    auto next = BootTime::max();
    {
      const std::lock_guard guard(mutex_);
      const auto now = BootClock::now();
      for (auto each = silent_.begin(); each != silent_.end();) {
        const auto after = std::next(each);
        if (each->due <= now)
          due.splice(due.end(), silent_, each);
        else
          next = std::min({next, each->due, now + Millis(20)});
        each = after;
      }
      plan_->unanswered = static_cast<int>(silent_.size());
    }
    for (auto& each : due) each.answer();
    return next;
  }
  static bool readable(int descriptor) {
    pollfd ready{descriptor, POLLIN, 0};
    return descriptor >= 0 && poll(&ready, 1, 0) > 0;
  }

  std::shared_ptr<Plan> plan_;
  Messages messages_;
  Traits traits_;
  std::mutex mutex_;
  std::list<Silent> silent_;
  std::vector<std::shared_ptr<void>> relays_;
  std::map<const Call*, const Call*> relay_of_;
  std::unique_ptr<Backend> real_;  // last, so that it is destroyed first
};

std::unique_ptr<Backend> open_faulty(const Opening& opening, Problem& problem) {
  Url url = opening.url;
  url.scheme = url.options.extract("real").mapped();
  const auto number = url.options.extract("plan").mapped();
  std::shared_ptr<Plan> plan;
  {
    const std::lock_guard guard(plans().mutex);
    plan = plans().all.at(number).lock();
  }
  auto backend = std::make_unique<FaultyBackend>(opening.hints, plan);
  if (!backend->connect(opening, url, problem)) return nullptr;
  return backend;
}

const Module& faulty_module() {
  static const Module module{.schemes = "faulty", .open = open_faulty};
  return module;
}

std::shared_ptr<Plan> make_plan(const Manners& manners) {
  auto plan = std::make_shared<Plan>();
  plan->manners = manners;
  return plan;
}

std::string faulty_url(std::string_view url, const std::shared_ptr<Plan>& plan) {
  const auto colon = url.find(':');
  return with_option(with_option("faulty" + std::string(url.substr(colon)),
                                 "real=" + std::string(url.substr(0, colon))),
                     "plan=" + enlist(plan));
}

}  // namespace

FaultyClient::FaultyClient(std::string_view url, const StoreOptions& options,
                           const Manners& manners)
    : plan_(make_plan(manners)), store_(faulty_module(), faulty_url(url, plan_), options) {}

FaultyClient::~FaultyClient() { heal(); }

const Traits& FaultyClient::traits() const noexcept { return plan_->traits; }

void FaultyClient::inject(const Injection& injection) {
  const std::lock_guard guard(plan_->mutex);
  plan_->injection = injection;
  plan_->counted = plan_->injected = 0;
}

// Sessions are proven only now and then, so the last lost proof stands in for the next one.
void FaultyClient::heal() {
  std::optional<std::pair<BootTime, Millis>> proof;
  {
    const std::lock_guard guard(plan_->mutex);
    plan_->injection.reset();
    plan_->lose_hints = false;
    proof.swap(plan_->lost_proof);
  }
  if (proof) plan_->client->alive(proof->first, proof->second);
}

void FaultyClient::lose_hints(bool lose) {
  const std::lock_guard guard(plan_->mutex);
  plan_->lose_hints = lose;
}

void FaultyClient::tell_of_lost_hints() { plan_->client->look(""); }

int FaultyClient::readers() const { return plan_->readers; }

int FaultyClient::unanswered() const { return plan_->unanswered; }

int FaultyClient::injected() const {
  const std::lock_guard guard(plan_->mutex);
  return plan_->injected;
}

int FaultyClient::seen(Calls calls) const {
  const std::lock_guard guard(plan_->mutex);
  int sum = 0;
  for (std::size_t kind = 0; kind < plan_->seen.size(); ++kind)
    if ((calls >> kind & 1U) != 0) sum += plan_->seen[kind];
  return sum;
}

void FaultyClient::deliver_late() {
  std::vector<std::function<void(Backend&)>> late;
  {
    const std::lock_guard guard(plan_->mutex);
    late.swap(plan_->late);
  }
  for (const auto& deliver : late) deliver(*plan_->real);
}

}  // namespace holdfast::support
