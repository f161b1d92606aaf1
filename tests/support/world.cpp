#include "support/world.hpp"

#include <algorithm>

#include "support/faulty.hpp"
#include "support/lender.hpp"
#include "support/results.hpp"

namespace holdfast::support {

std::string with_option(std::string url, std::string_view option) {
  if (option.empty()) return url;
  const std::string key = std::string(option.substr(0, option.find('='))) + "=";
  for (const auto* mark : {"?", "&"})
    if (const auto at = url.find(mark + key); at != url.npos)
      return url.replace(at + 1, std::min(url.find('&', at + 1), url.size()) - at - 1, option);
  url += url.find('?') == std::string::npos ? '?' : '&';
  return url.append(option);
}

World::World(const StoreCase& row) : site_(row.host == Host::lender ? borrow(row) : row.site()) {}

Store World::client(const StoreOptions& options, std::string_view option) const {
  auto chosen = options;
  if (chosen.release_deadline == StoreOptions{}.release_deadline)
    chosen.release_deadline = release_deadline;
  return open(url(option), chosen).value();
}

const Traits& World::traits() {
  if (!traits_) traits_ = std::make_unique<Traits>(FaultyClient(url()).traits());
  return *traits_;
}

testing::AssertionResult World::nothing_left(const std::string& name) {
  return nothing_left_but({}, name);
}

testing::AssertionResult World::nothing_left_but(std::string_view what, const std::string& name) {
  std::vector<std::string> left;
  const auto nothing = [&] {
    left = left_of(name);
    std::erase(left, what);
    return left.empty();
  };
  if (eventually(nothing)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "left of " << name << ": " << testing::PrintToString(left);
}

// Some stores notice a dead process without us, as soon as an ask makes them look. If the dead
// process still holds the name after that, nobody else does, so end_holder() ends the right lease.
bool World::bury(pid_t killed, const std::string& name, const std::function<void()>& wake) {
  const auto observer = client();
  const auto is_dead = [who = "/" + std::to_string(killed) + " "](const Holder& each) {
    return each.who.find(who) != std::string::npos;
  };
  return eventually([&] {
    (void)observer.lock(name).try_acquire();
    const auto known = listed(observer, name);
    const auto dead = std::ranges::find_if(known, is_dead);
    if (dead == known.end()) return true;
    if (dead->waits) return false;
    end_holder(name);
    if (traits().validity == Validity::claim) wake();  // The store announces the end of a session.
    return false;
  });
}

Millis World::renewal_due() {
  if (traits().validity == Validity::claim) return past_renewal;
  return std::chrono::ceil<Millis>(traits().session) / 6 + Millis(1000);
}

bool World::renewed(const Lease& lease, const Store* client) {
  const auto look = [&] {
    if (client != nullptr) (void)client->list("nobody");
  };
  const auto before = lease.left();
  const auto due = renewal_due();
  jump(due);
  const bool told = eventually([&] {
    look();
    return !lease.valid() || lease.left() > before - due / 2;
  });
  look();  // Answered after the proof, so the proof is over, and the next one can be due.
  return told && lease.valid();
}

std::string World::session(std::chrono::seconds lasts) {
  if (traits().session == Millis(0)) return {};
  return "session=" + std::to_string(lasts.count()) + "s";
}

}  // namespace holdfast::support
