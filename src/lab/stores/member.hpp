// lab/stores/member.hpp: how one process sees a consensus store: a backend that keeps a session.
#pragma once

#include "lab/stores/consensus.hpp"

namespace holdfast::lab {

class Member final : public Backend {
 public:
  Member(Consensus& store, Process& process, Hints& hints);
  static Member& of(Process& process);  // must be alive

  const Traits& traits() const noexcept override { return store_.traits(); }
  void ask(const Ask& ask, Pending<Answer>& call) noexcept override;
  void renew(std::span<const Keep> keeps, Pending<std::span<Answer>>& call) noexcept override;
  void release(std::span<const Drop> drops, Pending<std::span<Answer>>& call) noexcept override;
  void revoke(std::string_view name, bool now, Pending<Answer>& call) noexcept override;
  void describe(std::string_view name, Pending<Listing>& call) noexcept override;
  void list(std::string_view prefix, Pending<Listing>& call) noexcept override;
  void guarantees(Pending<Promise>& call) noexcept override { call.done({}); }
  void init(Init what, Pending<Answer>& call) noexcept override;
  void help(const Call*, BootTime, int) noexcept override {}

  void told(std::string_view name, const core::Notice& notice, std::int64_t store_us);

 private:
  struct Mine {
    std::uint16_t name;
    ClaimId claim;
    std::uint32_t weight;
    Millis ttl;
    bool held;
  };
  using Step = std::function<void(const Node& node, Answers& answers)>;

  void send(BootTime deadline, std::size_t count, Step step, Desk::Finish finish);
  void answered(SessionId session, BootTime sent, std::span<Answer> answers);
  void begin_session();
  void settle_session();
  void end_session(bool entries_are_gone);
  void sync();
  void sync_later();
  Mine* find(const ClaimId& claim) noexcept;
  void gone(const Mine& mine);
  BootTime now() const noexcept;

  Consensus& store_;
  Process& process_;
  Hints& hints_;
  core::Party session_;
  BootTime proven_;         // when the last request that this session answered left
  std::size_t node_;        // incremented with every move to another
  std::vector<Mine> mine_;  // claims that may be in the store
  bool syncing_ = false;
};

}  // namespace holdfast::lab
