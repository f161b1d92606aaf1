#include "runtime/shop.hpp"

#include <unistd.h>

#include <limits.h>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "core/text.hpp"
#include "runtime/callback_threads.hpp"
#include "runtime/forks.hpp"
#include "runtime/modules.hpp"

namespace holdfast::detail {
namespace {

// What others see of this process: host, pid and program. For people only, because a pid says
// nothing in another namespace.
std::string about_us() {
  char host[HOST_NAME_MAX + 1] = "?";
  ::gethostname(host, sizeof host - 1);
  return core::escaped(host, 64) + "/" + std::to_string(::getpid()) + " " +
         core::escaped(program_invocation_short_name, 64);
}

bool take_option(Url& url, std::string_view name, std::string& value) {
  const auto found = url.options.find(name);
  if (found == url.options.end()) return false;
  value = std::move(found->second);
  url.options.erase(found);
  return true;
}

// handover=off, or the most handovers in a row.
bool parse_handovers(const std::string& text, std::uint32_t& handovers, Problem& problem) {
  if (text == "off") {
    handovers = 0;
    return true;
  }
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, handovers);
  if (read.ec == std::errc() && read.ptr == end && handovers >= 1 && handovers <= 1000) return true;
  problem = {Errc::invalid, "bad_url", "store URL: handover is off or a number from 1 to 1000"};
  return false;
}

// The open stores, to settle their debts when the process exits.
struct Registry {
  std::mutex mutex;
  std::vector<std::weak_ptr<Shop>> shops;
};

// Waits one release deadline per store for its debts. What is left expires by its ttl.
void settle_at_exit() {
  auto& registry = per_process<Registry>();
  std::vector<std::weak_ptr<Shop>> shops;
  {
    const std::lock_guard guard(registry.mutex);
    shops = registry.shops;
  }
  for (const auto& weak : shops) {
    const auto shop = weak.lock();
    if (!shop || shop->epoch != fork_epoch()) continue;
    const BootTime until = BootClock::now() + shop->options.release_deadline;
    if (shop->await_debts(until)) shop->hand->backend().close(until);
  }
}

void remember(const std::shared_ptr<Shop>& shop) {
  static std::atomic<bool> registered{false};
  if (!registered.exchange(true)) std::atexit(settle_at_exit);
  auto& registry = per_process<Registry>();
  const std::lock_guard guard(registry.mutex);
  std::erase_if(registry.shops, [](const auto& weak) { return weak.expired(); });
  registry.shops.push_back(shop);
}

}  // namespace

Shop::Shop(Url url_, const StoreOptions& options_)
    : url(std::move(url_)), options(options_), epoch(fork_epoch()) {}

Result<std::shared_ptr<Shop>> Shop::open(const Module* module, std::string_view text,
                                         const StoreOptions& options) {
  Url url;
  Problem problem;
  std::string prefix;
  std::string handover;
  if (!core::parse_url(text, url, problem))
    return Error(problem.errc, problem.reason, problem.text);
  if (options.patience <= Millis(0) || options.release_deadline < Millis(0))
    return Error(Errc::invalid, "bad_options",
                 "patience must be positive and release_deadline not negative");
  const bool has_prefix = take_option(url, "prefix", prefix);
  const bool has_handover = take_option(url, "handover", handover);
  auto shop = std::make_shared<Shop>(url, options);
  if (has_prefix) shop->prefix = prefix;

  if (!module) module = find_module(url.scheme, problem);
  auto inbox = std::make_shared<Inbox>(shop);
  auto backend = module ? module->open({shop->url, *inbox, &open_backend}, problem) : nullptr;
  if (!backend) return Error(problem.errc, problem.reason, problem.text);
  shop->terms.traits = backend->traits();
  if (has_handover && !parse_handovers(handover, shop->terms.traits.handovers, problem))
    return Error(problem.errc, problem.reason, problem.text);
  if (shop->terms.traits.bare_tokens) shop->terms.traits.handovers = 0;
  shop->terms.patience = options.patience;
  shop->terms.next_delay =
      options.next_delay ? options.next_delay : decorrelated_jitter(Millis(5), Millis(250));
  shop->terms.about = about_us();
  if (shop->terms.session()) shop->terms.session_end.store(0);
  shop->hand = std::make_shared<Hand>(std::move(inbox), std::move(backend));
  remember(shop);
  return shop;
}

Shop::~Shop() {
  if (!hand) return;
  if (epoch == fork_epoch()) {
    hand->backend().close(BootClock::now() + options.release_deadline);
    hand->stop();
  } else {
    // Closing a client library in a forked child would end the parent's session, so leak it.
    new std::shared_ptr<Hand>(std::move(hand));
  }
}

std::optional<Error> Shop::unfit() {
  if (epoch != fork_epoch())
    return Error(Errc::invalid, "opened_before_fork",
                 core::shown(url) + ": opened before fork; open it again in the child");
  if (closed.load(std::memory_order_acquire))
    return Error(Errc::cancelled, "closed", core::shown(url) + ": the store was closed");
  return std::nullopt;
}

std::optional<Error> Shop::ready() {
  if (auto error = unfit()) return error;
  if (ready_.load(std::memory_order_acquire)) return std::nullopt;
  const std::lock_guard guard(ready_mutex_);
  if (ready_.load(std::memory_order_relaxed)) return std::nullopt;
  if (!Heart::beat().start() || !LossThreads::shared().start() ||
      !CallbackThreads::shared().start() || !hand->start())
    return Error(Errc::unavailable, "resource",
                 core::shown(url) +
                     ": cannot make the threads that keep a lease; the limit of threads or open "
                     "files is reached");
  ready_.store(true, std::memory_order_release);
  return std::nullopt;
}

// ── gates ───────────────────────────────────────────────────────────────────────────────────────

std::shared_ptr<LiveGate> Shop::gate(const std::string& name) {
  if (auto found = find(name)) return found;
  auto made = std::make_shared<LiveGate>(name, shared_from_this());  // destroyed after the unlock
  ++gate_count;
  const std::lock_guard guard(gates_mutex_);
  if (const auto found = gates_.find(name); found != gates_.end()) {
    if (auto other = (*found)->weak_from_this().lock()) return other;
    gates_.erase(found);  // it is being destroyed
  }
  gates_.insert(made.get());
  return made;
}

std::shared_ptr<LiveGate> Shop::find(std::string_view name) noexcept {
  const std::lock_guard guard(gates_mutex_);
  const auto found = gates_.find(name);
  return found == gates_.end() ? nullptr : (*found)->weak_from_this().lock();
}

void Shop::forget(const LiveGate& gate) noexcept {
  --gate_count;
  if (epoch != fork_epoch()) return;  // in a forked child the mutex may be locked for ever
  const std::lock_guard guard(gates_mutex_);
  const auto found = gates_.find(gate.name());
  if (found != gates_.end() && *found == &gate) gates_.erase(found);
}

std::vector<std::shared_ptr<LiveGate>> Shop::gates() {
  std::vector<std::shared_ptr<LiveGate>> all;
  const std::lock_guard guard(gates_mutex_);
  for (LiveGate* known : gates_)
    if (auto gate = known->weak_from_this().lock()) all.push_back(std::move(gate));
  return all;
}

bool Shop::in_use() {
  return std::ranges::any_of(gates(), [](const auto& gate) { return gate->in_use(); });
}

// Most locks of a program ask for the same, so they share one wish.
std::shared_ptr<const core::Wish> Shop::shared_wish(core::Wish wish) {
  const std::lock_guard guard(gates_mutex_);
  if (!last_wish_ || *last_wish_ != wish)
    last_wish_ = std::make_shared<const core::Wish>(std::move(wish));
  return last_wish_;
}

// ── errors and events ───────────────────────────────────────────────────────────────────────────

Error Shop::error(const std::string& name, Errc code, const core::Failure* failure) const {
  const std::string where = core::escaped(name, 128) + " on " + core::shown(url);
  if (!failure) return Error(code, "resource", where + ": out of memory");
  const Problem& problem = failure->problem;
  std::string text = where + ": ";
  if (code == Errc::busy) {
    text += failure->holder && !failure->holder->who.empty()
                ? "held by " + core::escaped(failure->holder->who)
                : "held by another";
    text += problem.text.empty() ? "; wait longer or try again later" : "; " + problem.text;
  } else if (code == Errc::cancelled) {
    text += problem.reason == "closed" ? "the store was closed" : "cancelled";
  } else {
    text += problem.text.empty() ? std::string(to_string(code)) : problem.text;
  }
  return Error(code, problem.reason, text, failure->holder);
}

Error Shop::error(const Problem& problem) const {
  return Error(problem.errc, problem.reason, core::shown(url) + ": " + problem.text);
}

void Shop::tell(Event::Kind kind, const std::string& name, Token token, BootTime since,
                std::string_view reason) noexcept {
  using enum Event::Kind;
  switch (kind) {
    case acquired: ++counts.acquired; break;
    case handed_over: ++counts.acquired, ++counts.handed_over; break;
    case renewed: ++counts.renewed; break;
    case at_risk: ++counts.at_risk; break;
    case lost: ++counts.lost; break;
    case released: ++counts.released; break;
    case safe:
    case not_held:
    case handler_threw:
    case warning: break;
  }
  if (!options.on_event) return;
  const auto after = since == core::never
                         ? Millis(0)
                         : std::chrono::duration_cast<Millis>(BootClock::now() - since);
  try {
    pass_on({kind, name, token, after, std::string(reason)});
  } catch (const std::bad_alloc&) {
    ++counts.events_dropped;
  }
}

void Shop::warn(const Problem& problem) noexcept try {
  Event event{.kind = Event::Kind::warning, .name = {}, .token = {}, .reason = problem.reason};
  event.text = core::shown(url) + ": " + problem.text;
  if (options.on_event) pass_on(std::move(event));
} catch (const std::bad_alloc&) {
  ++counts.events_dropped;
}

void Shop::pass_on(Event event) {
  const bool queued =
      CallbackThreads::shared().tell([shop = shared_from_this(), event = std::move(event)] {
        try {
          shop->options.on_event(event);
        } catch (...) {
          ++shop->counts.handlers_threw;
        }
      });
  if (!queued) ++counts.events_dropped;
}

void Shop::resume(AsyncWaiter& waiter) noexcept {
  if (options.resume && !runs_no_user_code) {
    options.resume(waiter.handle);
  } else {
    CallbackThreads::shared().resume(waiter);
  }
}

void resume_here(AsyncWaiter& waiter) noexcept {
  Shop& its_shop = waiter.gate->shop();
  if (!its_shop.options.resume) return waiter.handle.resume();
  const auto shop = its_shop.shared_from_this();  // the coroutine may drop the last other reference
  shop->options.resume(waiter.handle);
}

// ── debts and the end ───────────────────────────────────────────────────────────────────────────

void Shop::count_debts(std::int64_t by) noexcept {
  if (debts.fetch_add(by, std::memory_order_acq_rel) + by != 0) return;
  const std::lock_guard guard(debts_mutex_);
  debts_paid_.notify_all();
}

// Another reference to the shop, held for a moment, only delays this.
bool LiveGate::abandoned() const noexcept { return shop_.use_count() <= shop_->gate_count; }

bool Shop::await_debts(BootTime until) noexcept {
  std::unique_lock lock(debts_mutex_);
  const auto left = std::max(until - BootClock::now(), Nanos(0));
  return debts_paid_.wait_for(lock, left,
                              [&] { return debts.load(std::memory_order_acquire) == 0; });
}

Result<void> Shop::close(Millis at_most) {
  if (epoch != fork_epoch()) return *unfit();
  closed.store(true, std::memory_order_release);
  for (const auto& gate : gates()) gate->close();
  const BootTime until = BootClock::now() + std::min(at_most, Millis(std::chrono::hours(24)));
  if (await_debts(until)) {
    hand->backend().close(until);
    return {};
  }
  return Error(Errc::unknown, "not_confirmed",
               core::shown(url) +
                   ": not every release was confirmed in time; that goes on in the background");
}

// ── hints ───────────────────────────────────────────────────────────────────────────────────────

template <class Tell>
void Inbox::for_all_gates(Tell&& tell) noexcept try {
  if (const auto shop = shop_.lock())
    for (const auto& gate : shop->gates()) tell(*gate);
} catch (const std::bad_alloc&) {
  // Waiters ask again on their own, after a while.
}

void Inbox::granted(std::string_view name, const ClaimId& claim, const Answer& answer) noexcept {
  const auto shop = shop_.lock();
  if (const auto gate = shop ? shop->find(name) : nullptr) gate->granted(claim, answer);
}

// Without a name: at all gates, because nobody knows which messages were missed.
void Inbox::look(std::string_view name) noexcept {
  if (name.empty()) return for_all_gates([](LiveGate& gate) { gate.look(); });
  const auto shop = shop_.lock();
  if (const auto gate = shop ? shop->find(name) : nullptr) gate->look();
}

void Inbox::gone(std::string_view name, const ClaimId& claim) noexcept {
  const auto shop = shop_.lock();
  if (const auto gate = shop ? shop->find(name) : nullptr) gate->gone(claim);
}

void Inbox::alive(BootTime sent, Millis ttl) noexcept {
  const auto shop = shop_.lock();
  if (!shop) return;
  if (shop->terms.prove_until(core::end_of(sent, ttl, shop->terms.traits.granularity)))
    for_all_gates([](LiveGate& gate) { gate.proven(); });
}

void Inbox::in_doubt() noexcept {
  for_all_gates([](LiveGate& gate) { gate.in_doubt(); });
}

void Inbox::warn(const Problem& problem) noexcept {
  if (const auto shop = shop_.lock()) shop->warn(problem);
}

}  // namespace holdfast::detail
