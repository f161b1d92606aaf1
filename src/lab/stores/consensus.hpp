// lab/stores/consensus.hpp: a store of several nodes that agree on every step, like ZooKeeper and
// etcd. Claims belong to sessions: a session lives while its process is heard, and all its claims
// end with it.
#pragma once

#include <map>

#include "lab/stores/chronicle.hpp"
#include "lab/stores/store.hpp"

namespace holdfast::lab {

using SessionId = std::uint64_t;

// The session of a request, and how often it had moved to another node when the request left.
struct Visit {
  core::Party session;
  std::uint64_t move = 0;
};

class Consensus final : public Store {
 public:
  explicit Consensus(Scene& scene);

  const Traits& traits() const noexcept override { return traits_; }
  std::unique_ptr<Backend> connect(Process& process, Hints& hints) override;
  void suffer(const Fault& fault) override;
  void calm() override;

  // ── for its backends ──
  Scene& scene() const noexcept { return scene_; }
  Millis timeout() const noexcept { return scene_.plan.store.session; }
  Node& node(std::size_t index) noexcept { return *nodes_[index % nodes_.size()]; }
  // A node handles a request of a session: it does nothing without a majority behind it; else it
  // takes the step, unless that session has ended or moved.
  template <class Step>
  void agree(const Node& node, const Visit& visit, Answers& answers, std::size_t count,
             Step&& step);
  Answer ask(const Node& node, const Ask& ask, const core::Party& session);
  Answer keep(const Node& node, const Keep& keep, const core::Party& session);
  Answer release(const Node& node, const Drop& drop, const core::Party& session);
  Answer revoke(std::uint16_t name, bool now);
  std::vector<Holder> holders(std::uint16_t name) const;
  std::vector<Holder> list(std::string_view prefix) const;
  SessionId fresh_session() noexcept { return ++last_session_; }

  static bool says_session_ended(const Answer& answer) {
    return answer.problem.reason == "session_ended";
  }

 private:
  struct Session {
    core::Party party;
    std::int64_t heard_us;
    bool ended;
    std::int16_t node;  // that heard it last, and sends it its messages
    std::uint64_t move;
  };
  template <class Step>
  Answer step(std::uint16_t name, const char* why, Step&& step);
  bool has_majority() const noexcept;
  bool follows(const Node& node) const noexcept;  // belongs to the majority
  const char* hear(const Node& node, const Visit& visit);
  void end(Session& session, const char* why);
  void watch_sessions();
  void notify(std::uint16_t name, const core::Notices& notices, std::int64_t store_us);
  void isolate(std::size_t node, Nanos length);
  static Answers refused(std::size_t count, const char* why);

  Scene& scene_;
  Traits traits_;
  Chronicle chronicle_;
  Node leader_;  // whose clock counts, whichever node leads
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<bool> isolated_;
  std::vector<core::Admission> lines_;
  std::map<SessionId, Session> sessions_;
  std::uint64_t revision_ = 0;
  SessionId last_session_ = 0;
  bool watching_ = false;
};

template <class Step>
void Consensus::agree(const Node& node, const Visit& visit, Answers& answers, std::size_t count,
                      Step&& step) {
  if (!follows(node)) return;
  if (const char* why = hear(node, visit)) {
    answers = refused(count, why);
  } else {
    step(answers);
  }
}

}  // namespace holdfast::lab
