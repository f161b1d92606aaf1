#include "holdfast/store.hpp"

#include "core/text.hpp"
#include "runtime/access.hpp"
#include "runtime/answered.hpp"

namespace holdfast {

using detail::Access;
using detail::Answered;
using detail::Place;
using detail::Shop;

namespace {

// A reader weighs 1, a writer this much, because there are never so many readers at once.
constexpr std::uint32_t rw_capacity = 1U << 20;
constexpr Millis longest_ttl = std::chrono::hours(24) * 30;
constexpr std::size_t longest_name = 512;
constexpr std::size_t longest_label = 1024;

std::optional<Error> refusal(const std::string& text, std::string_view reason,
                             Errc code = Errc::invalid) {
  return Error(code, reason, text);
}

std::string in_millis(Millis span) { return std::to_string(span.count()) + " ms"; }

std::optional<Error> check_name(const std::string& name, const std::string& prefix) {
  if (name.empty()) return refusal("name must not be empty", "bad_name");
  if (name.size() + prefix.size() > longest_name)
    return refusal("name must be at most 512 bytes long, its prefix included; this one has " +
                       std::to_string(name.size() + prefix.size()),
                   "bad_name");
  return std::nullopt;
}

std::optional<Error> check_options(const LockOptions& options, const core::Terms& terms) {
  const Traits& traits = terms.traits;
  const Millis most = std::min(traits.ttl_max, longest_ttl);
  if (options.ttl < traits.ttl_min || options.ttl > most)
    return refusal("ttl must be from " + in_millis(traits.ttl_min) + " to " + in_millis(most) +
                       " on this store; it is " + in_millis(options.ttl),
                   "bad_ttl");
  if (options.wait < Millis(0))
    return refusal("wait must not be negative; 0 tries once", "bad_wait");
  if (options.hold_at_most <= Millis(0))
    return refusal("hold_at_most must be positive", "bad_hold_at_most");
  if (options.lock_delay < Millis(0) || options.lock_delay > longest_ttl)
    return refusal("lock_delay must be from 0 to 30 days", "bad_lock_delay");
  if (options.margin < Millis(0) || options.margin > terms.ttl_of(options.ttl) / 2)
    return refusal("margin must be from 0 to half of the ttl", "bad_margin");
  if (options.label.size() > longest_label)
    return refusal("label must be at most 1024 bytes long", "bad_label");
  return std::nullopt;
}

std::optional<Error> check_kind(Kind kind, std::uint32_t capacity, std::uint32_t weight,
                                const Traits& traits) {
  const bool carried = kind == Kind::mutex ? traits.mutex
                       : kind == Kind::rw  ? traits.rw
                                           : traits.semaphore;
  if (!carried)
    return refusal(
        std::string(traits.scheme) + ": this store cannot carry a " + std::string(to_string(kind)),
        "kind", Errc::unsupported);
  if (capacity == 0) return refusal("a semaphore needs at least one permit", "bad_permits");
  if (weight == 0 || weight > capacity)
    return refusal("permits must be from 1 to " + std::to_string(capacity) + "; asked for were " +
                       std::to_string(weight),
                   "bad_permits");
  return std::nullopt;
}

core::Entrant entrant(const std::optional<Owner>& owner) {
  core::Entrant who;
  if (!owner) return who;
  for (std::size_t i = 0; i < 8; ++i) {
    who.high = who.high << 8 | owner->bytes()[i];
    who.low = who.low << 8 | owner->bytes()[i + 8];
  }
  return who;
}

// On a store that has both kinds, a plain lock is the write side of the read-write lock of that
// name, so that `run NAME` and `run --shared NAME`, lock() and rw_lock(), exclude each other.
void as_writer(Kind& kind, std::uint32_t& capacity, std::uint32_t& weight, const Traits& traits) {
  if (kind != Kind::mutex || !traits.rw || traits.bare_tokens) return;
  kind = Kind::rw;
  capacity = weight = rw_capacity;
}

Lock make_lock(const std::shared_ptr<Shop>& shop, const std::string& name,
               const LockOptions& options, Kind kind, std::uint32_t capacity,
               std::uint32_t weight) {
  const Traits& traits = shop->terms.traits;
  auto place = std::make_shared<Place>();
  place->shop = shop;
  place->wait = options.wait;
  place->owner = entrant(options.owner);
  place->verdict = check_name(name, shop->prefix);
  if (!place->verdict) place->verdict = check_options(options, shop->terms);
  if (!place->verdict) place->verdict = check_kind(kind, capacity, weight, traits);
  if (place->verdict) return Access::lock(std::move(place));

  as_writer(kind, capacity, weight, traits);
  core::Wish wish;
  wish.kind = kind;
  wish.capacity = capacity;
  wish.weight = weight;
  wish.ttl = shop->terms.ttl_of(options.ttl);
  wish.hold_at_most = options.hold_at_most;
  wish.lock_delay = options.lock_delay;
  wish.margin =
      options.margin > Millis(0) ? core::Nanos(options.margin) : core::default_margin(wish.ttl);
  wish.purpose = options.purpose;
  wish.fair = options.fair;
  if (!options.label.empty())
    wish.about = shop->terms.about + " (" + core::escaped(options.label, longest_label) + ")";
  place->wish = shop->shared_wish(std::move(wish));
  place->gate = shop->gate(shop->prefix + name);
  return Access::lock(std::move(place));
}

Error silent(const Shop& shop) {
  return shop.error({Errc::unavailable, "silent", "the store did not answer in time"});
}

template <class R, class Start>
std::optional<R> ask_store(Shop& shop, std::string subject, Start&& start,
                           const detail::LookedAt& looked_at = {}) {
  Backend& backend = shop.hand->backend();
  return Answered<R, std::string>::from(
      *shop.hand, BootClock::now() + shop.options.patience, std::move(subject),
      [&](const std::string& whole, auto& call) { start(backend, whole, call); }, looked_at);
}

Result<void> plain(const Shop& shop, const std::optional<Answer>& answer) {
  if (!answer) return silent(shop);
  if (answer->said == Said::yes) return {};
  if (answer->said == Said::gone)
    return Error(Errc::lost, "not_held", core::shown(shop.url) + ": nobody holds it");
  return shop.error(answer->problem);
}

// Names come back without the prefix of the URL.
Result<std::vector<Holder>> told(const Shop& shop, std::optional<Listing> listing) {
  if (!listing) return silent(shop);
  if (listing->problem.errc != Errc{}) return shop.error(listing->problem);
  for (auto& holder : listing->holders) holder.name.erase(0, shop.prefix.size());
  return std::move(listing->holders);
}

}  // namespace

Owner Owner::fresh() {
  Owner owner;
  core::Entropy& entropy = detail::moment_now().entropy;
  for (auto& byte : owner.id_) byte = static_cast<std::uint8_t>(entropy.draw());
  return owner;
}

Result<Store> open(std::string_view url, const StoreOptions& options) {
  auto shop = Shop::open(nullptr, url, options);
  if (!shop) return shop.error();
  return Store(std::move(*shop));
}

Store::Store(const Module& module, std::string_view url, const StoreOptions& options)
    : shop_(Shop::open(&module, url, options).value()) {}

Lock Store::lock(LockName name, const LockOptions& options) const {
  return make_lock(shop_, name.bytes(), options, Kind::mutex, 1, 1);
}

RwLock Store::rw_lock(LockName name, const LockOptions& options) const {
  return {make_lock(shop_, name.bytes(), options, Kind::rw, rw_capacity, 1),
          make_lock(shop_, name.bytes(), options, Kind::rw, rw_capacity, rw_capacity)};
}

Semaphore Store::semaphore(LockName name, std::uint32_t permits, const LockOptions& options) const {
  return Semaphore([shop = shop_, name = name.bytes(), permits, options,
                    label = std::string(options.label)](std::uint32_t weight) {
    LockOptions wanted = options;
    wanted.label = label;
    return make_lock(shop, name, wanted, Kind::semaphore, permits, weight);
  });
}

Result<Lease> Store::enter(LockName name, const LockOptions& options) const {
  const Lock held = lock(std::move(name), options);
  return detail::acquire(Access::place(held), options.wait, detail::this_thread(), {});
}

Result<std::vector<Holder>> Store::holders(LockName name) const {
  if (auto error = shop_->ready()) return *error;
  if (auto error = check_name(name.bytes(), shop_->prefix)) return *error;
  return told(*shop_, ask_store<Listing>(*shop_, shop_->prefix + name.bytes(),
                                         [](Backend& backend, const std::string& whole,
                                            auto& call) { backend.describe(whole, call); }));
}

Result<std::vector<Holder>> Store::list(std::string_view prefix, const Progress& progress) const {
  if (auto error = shop_->ready()) return *error;
  bool goes_on = true;
  detail::LookedAt looked_at;
  if (progress) looked_at = [&](std::uint64_t keys) { return goes_on = progress(keys); };
  auto listing = ask_store<Listing>(
      *shop_, shop_->prefix + std::string(prefix),
      [](Backend& backend, const std::string& whole, auto& call) { backend.list(whole, call); },
      looked_at);
  if (!goes_on) return shop_->error({Errc::cancelled, "cancelled", "the listing was ended"});
  return told(*shop_, std::move(listing));
}

Result<Guarantees> Store::guarantees() const {
  if (auto error = shop_->ready()) return *error;
  auto promise = ask_store<Promise>(
      *shop_, {}, [](Backend& backend, const auto&, auto& call) { backend.guarantees(call); });
  if (!promise) return silent(*shop_);
  if (promise->problem.errc != Errc{}) return shop_->error(promise->problem);
  return std::move(promise->guarantees);
}

Result<std::vector<Fact>> Store::inspect() const {
  if (auto error = shop_->ready()) return *error;
  auto inspection = ask_store<Inspection>(
      *shop_, {}, [](Backend& backend, const auto&, auto& call) { backend.inspect(call); });
  if (!inspection) return silent(*shop_);
  if (inspection->problem.errc != Errc{}) return shop_->error(inspection->problem);
  return std::move(inspection->facts);
}

Stats Store::stats() const {
  const auto& counts = shop_->counts;
  return {.acquired = counts.acquired,
          .handed_over = counts.handed_over,
          .released = counts.released,
          .renewed = counts.renewed,
          .at_risk = counts.at_risk,
          .lost = counts.lost,
          .busy = counts.busy,
          .cancelled = counts.cancelled,
          .unavailable = counts.unavailable,
          .asks = counts.asks,
          .drops = counts.drops,
          .renewals = counts.renewals,
          .debts = static_cast<std::uint64_t>(std::max<std::int64_t>(shop_->debts.load(), 0)),
          .events_dropped = counts.events_dropped,
          .handlers_threw = counts.handlers_threw};
}

std::string Store::url() const { return core::shown(shop_->url); }

bool Store::ends_with_process() const noexcept { return shop_->terms.traits.ends_with_process; }

Result<void> Store::revoke(LockName name, bool now) const {
  if (auto error = shop_->ready()) return *error;
  if (auto error = check_name(name.bytes(), shop_->prefix)) return *error;
  return plain(*shop_, ask_store<Answer>(*shop_, shop_->prefix + name.bytes(),
                                         [now](Backend& backend, const std::string& whole,
                                               auto& call) { backend.revoke(whole, now, call); }));
}

Result<void> Store::init(Init what) const {
  if (auto error = shop_->ready()) return *error;
  if (what == Init::as_new && shop_->in_use())
    return shop_->error(
        {Errc::busy, "in_use", "this process has locks there; let go of them, and end all others"});
  return plain(*shop_,
               ask_store<Answer>(*shop_, {}, [what](Backend& backend, const auto&, auto& call) {
                 backend.init(what, call);
               }));
}

Result<void> Store::close(Millis at_most) const { return shop_->close(at_most); }

}  // namespace holdfast
