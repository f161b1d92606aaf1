// stores/zookeeper/own_claims.hpp: the claims of this process, from their first ask to their end.
//
// A claim is an ephemeral sequential child of its lock's node. One round trip creates it and lists
// the children; from the list, line.hpp tells whether the claim is granted and, if not, which nodes
// to watch. When one of them changes, the waiter gets a look() hint, asks again, and the list is
// read again.
//
// The bodies: own_claims.cpp (entries, events), asking.cpp, leaving.cpp (releases), keeping.cpp
// (renewals, and the watch that each claim keeps on its own node).
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "stores/common/flow.hpp"
#include "stores/zookeeper/entry.hpp"
#include "stores/zookeeper/folders.hpp"
#include "stores/zookeeper/keeper.hpp"
#include "stores/zookeeper/line.hpp"

namespace holdfast::stores::zookeeper {

class OwnClaims final : public Tenants {
 public:
  OwnClaims(const Options& options, const Layout& layout, Courier& courier, Keeper& keeper)
      : options_(options), layout_(layout), courier_(courier), keeper_(keeper) {}

  void ask(const Ask& ask, Courier::Ticket<Answer> ticket);
  void renew(std::span<const Keep> keeps, Courier::Ticket<std::span<Answer>> ticket);
  void release(std::span<const Drop> drops, Courier::Ticket<std::span<Answer>> ticket);

  BootTime tick(BootTime now) noexcept;

  bool depend() noexcept override;
  void evict(bool told) noexcept override;
  void changed(const std::string& path, bool deleted) noexcept override;
  void prove(Session& session) noexcept override;

 private:
  struct Hash {
    std::size_t operator()(const ClaimId& claim) const noexcept {
      std::size_t hash = 0;
      for (std::size_t i = 0; i < sizeof hash; ++i) hash = hash << 8 | claim[i];
      return hash;
    }
  };

  // Entries and their jobs.
  bool hand_in(const ClaimId& claim, Job job);  // false: there is no such entry
  void begin(const std::shared_ptr<Entry>& entry);
  Flow serve(std::shared_ptr<Entry> entry);
  std::optional<Job> next(const std::shared_ptr<Entry>& entry);
  Place place_of(const Entry& entry);
  // Changes entry.place; false if the session is over, because then everything made in it is gone.
  template <class Change>
  bool settle(Entry& entry, const std::shared_ptr<Session>& session, Change&& change) {
    const std::lock_guard lock(mutex_);
    if (session->over()) return false;
    change(entry.place);
    return true;
  }
  bool is_withdrawn(const ClaimId& claim);
  void withdraw(const ClaimId& claim, Millis ttl);

  void note_number(const Place& place) noexcept;  // Requires mutex_.
  Problem fault_of_number(const Place& place);    // errc 0: a grant may carry this number

  // Asking.
  Task<std::optional<Answer>> ask(Entry& entry, AskJob& job);
  Task<Outcome> line_up(Entry& entry, const AskJob& job, std::shared_ptr<Session> session);
  Task<int> find_again(Entry& entry, std::shared_ptr<Session> session);
  Task<bool> grant(Entry& entry, const AskJob& job, const Place& place, const Line& line,
                   const Verdict& verdict, std::shared_ptr<Session> session,
                   std::optional<Answer>& answer);
  Task<Answer> refuse(Entry& entry, const Line& line, std::shared_ptr<Session> session);
  Task<Answer> give_up(Entry& entry, Answer answer);
  struct Delay {
    int rc = ZOK;    // otherwise `left` is unknown
    Millis left{0};  // 0: it is over
  };
  Task<Delay> delay_left(const Entry& entry, const AskJob& job, const Place& place,
                         const std::vector<Marker>& orphans, std::shared_ptr<Session> session);
  Task<std::optional<Answer>> put_off(Entry& entry, const AskJob& job, const Delay& delay,
                                      std::shared_ptr<Session> session);
  struct Watched {
    int rc = ZOK;
    bool moved = false;  // a watched node changed meanwhile: judge again
    std::optional<Holder> holder{};
  };
  Task<Watched> watch(const Entry& entry, const Line& line, const Verdict& verdict,
                      std::shared_ptr<Session> session);
  bool note_watch(const std::string& path, const ClaimId& claim);  // false: it watches already
  void forget_watch(const std::string& path, const ClaimId& claim);

  // A marker contains the timeout of its holder's session.
  static std::string marker_text(const Session& session) {
    return std::to_string(session.timeout().count());
  }

  // Leaving.
  struct Replaced {  // co_await: withdraws the claim that an ask replaces; resumes once it is gone
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> waiting);
    void await_resume() const noexcept {}
    OwnClaims& claims;
    const ClaimId claim;
    const Millis ttl;
  };
  Task<int> leave(Entry& entry);
  Task<int> remove_marker(const Entry& entry, const Place& place);
  Task<int> remove_node(const Entry& entry, const Place& place, std::shared_ptr<Session> session);
  Task<Answer> drop(Entry& entry);

  // Keeping.
  Task<Answer> keep(Entry& entry, const KeepJob& job);
  Task<int> reshape(Entry& entry, const Place& place, std::uint32_t weight,
                    std::shared_ptr<Session> session);
  Flow guard(std::shared_ptr<Entry> entry);
  void guard_later(const Entry& entry);  // Requires mutex_.
  void end_deleted(const std::shared_ptr<Entry>& entry, const Place& place);
  Flow end_deleted_waiter(std::shared_ptr<Entry> entry, Place place);

  const Options& options_;
  const Layout& layout_;
  Courier& courier_;
  Keeper& keeper_;
  std::mutex mutex_;
  std::unordered_map<ClaimId, std::shared_ptr<Entry>, Hash> entries_;
  std::unordered_map<ClaimId, BootTime, Hash> withdrawn_;  // a late ask is refused until this time
  std::multimap<std::string, ClaimId, std::less<>> watches_;
  // Numbers of grants: the highest so far, and the highest that earlier sessions have seen. A
  // number of the present session must be higher than that; otherwise the servers have lost data.
  std::int64_t highest_ = 0, forgotten_below_ = 0;
  std::deque<std::pair<BootTime, ClaimId>> unguarded_;  // when each starts to watch its own node
};

}  // namespace holdfast::stores::zookeeper
