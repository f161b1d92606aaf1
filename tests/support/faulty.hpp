// tests/support/faulty.hpp: a client of the real store, with calls that fail on demand.
//
//   FaultyClient alice(world.url());
//   alice.inject({.fault = Fault::lost_reply, .calls = asks, .nth = 2});
//   auto lease = alice.store().lock(name).acquire();
//
// It is a store of its own (scheme "faulty") that opens the real one by Opening::other and stands
// in between: calls that it does not spoil go straight through.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "holdfast/backend.hpp"
#include "holdfast/holdfast.hpp"

namespace holdfast::support {

enum class Fault : std::uint8_t {
  lost_reply,    // applied, then answered `unknown`
  lost_request,  // answered `unknown`, never applied
  late_request,  // answered `unknown`, kept, and applied by deliver_late()
  silence,       // never applied; answered `unknown` at its deadline
  slow_reply,    // applied; answered just before its deadline
  refusal,       // certainly not applied: `no`, unavailable
};

using Calls = unsigned;
inline constexpr Calls asks = 1, renewals = 2, releases = 4, lists = 8;
inline constexpr Calls changes = asks | renewals | releases;
inline constexpr Calls proofs = 16;                  // not calls: messages that a session was alive
inline constexpr Calls keeping = renewals | proofs;  // what keeps a lease

struct Injection {
  Fault fault = Fault::lost_reply;
  Calls calls = changes;  // these are counted and spoiled
  int nth = 1;            // the first to spoil, counted from this injection on
  int count = 1;          // how many in a row
};
inline constexpr int for_good = 1 << 30;

// What must fail to end a lease at the store. A session survives these faults, so with sessions it
// is the client that lets go of what it lost.
constexpr Calls ending(const Traits& traits) {
  return traits.validity == Validity::claim ? renewals | releases : proofs;
}

// Abilities that the real store has and this one must not use, so that simpler stores are tested
// before they exist.
struct Manners {
  bool queues = true;
  bool notifies = true;
  bool tokens = true;
};

class FaultyClient {
 public:
  explicit FaultyClient(std::string_view url, const StoreOptions& options = {},
                        const Manners& manners = {});
  ~FaultyClient();
  FaultyClient(const FaultyClient&) = delete;
  FaultyClient& operator=(const FaultyClient&) = delete;

  const Store& store() const noexcept { return store_; }
  const Traits& traits() const noexcept;  // of the real store

  void inject(const Injection& injection);  // replaces the one before
  void heal();
  void lose_hints(bool lose);   // messages from the store do not arrive
  void tell_of_lost_hints();    // as from a store that noticed: look everywhere
  int readers() const;          // threads that wait for messages now
  int injected() const;         // by the present injection
  int unanswered() const;       // calls that are silent or slow, now
  int seen(Calls calls) const;  // calls of these kinds so far, spoiled or not
  void deliver_late();          // returns when the real store has answered

  struct Plan;

 private:
  std::shared_ptr<Plan> plan_;
  Store store_;
};

}  // namespace holdfast::support
