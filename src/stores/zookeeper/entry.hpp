// stores/zookeeper/entry.hpp: what we know of one of our claims, and its pending jobs.
//
// One flow does the jobs of a claim one after the other, so a stuck ask and the release that
// follows it never meet at the server. An entry begins with the first ask and ends when its node is
// known to be gone.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "stores/common/courier.hpp"
#include "stores/zookeeper/layout.hpp"
#include "stores/zookeeper/session.hpp"

namespace holdfast::stores::zookeeper {

// Several requests of one call.
class Batch {
 public:
  Batch(Courier::Ticket<std::span<Answer>> ticket, std::size_t count)
      : ticket_(std::move(ticket)), answers_(count), left_(count) {}
  void answer(std::size_t index, Answer answer) {
    answers_[index] = std::move(answer);
    if (left_.fetch_sub(1) == 1) ticket_->answer(std::move(answers_));
  }

 private:
  Courier::Ticket<std::span<Answer>> ticket_;
  std::vector<Answer> answers_;
  std::atomic<std::size_t> left_;
};

// Jobs hold copies, because what a request points to may be gone after its answer.
struct AskJob {
  Shape shape;
  ClaimId instead{};
  Millis instead_ttl{};
  Millis lock_delay{};
  bool queue = false;
  std::string about;
  Courier::Ticket<Answer> ticket;
};
struct KeepJob {
  std::uint32_t weight = 1;
  std::shared_ptr<Batch> batch;
  std::size_t index = 0;
};
struct DropJob {
  std::shared_ptr<Batch> batch{};  // null: an ask replaces this claim …
  std::size_t index = 0;
  std::coroutine_handle<> then{};  // … and that ask goes on afterwards
};
using Job = std::variant<AskJob, KeepJob, DropJob>;

enum class Standing : std::uint8_t {
  absent,
  waiting,
  held,
  ended,  // it was held and is lost
};

// Where a claim stands at the server, as far as we know.
struct Place {
  Standing standing{};
  std::shared_ptr<Session> session{};  // the one that created its node
  std::string child{};                 // its node; empty: we know of none
  std::string marker{};                // its lock_delay marker; empty: none
  Shape shape{};
  std::int64_t number = 0;    // the czxid of its first node
  std::int64_t stamp_ms = 0;  // the server's time of its creation
  bool doubtful = false;      // a node may exist whose creation was not confirmed
  bool leaving = false;       // its node is being deleted or replaced
  bool revoked = false;

  // The node is gone. The marker may remain, because it belongs to no session.
  void node_is_gone() { *this = {.standing = standing, .marker = std::move(marker)}; }
};

struct Entry {
  Entry(const ClaimId& id, std::string_view its_name, std::string its_folder)
      : claim(id), name(its_name), folder(std::move(its_folder)) {}

  const ClaimId claim;
  const std::string name;
  const std::string folder;  // the lock's node

  // Guarded by OwnClaims::mutex_.
  Place place;
  std::deque<Job> jobs;
  bool served = false;  // a flow does its jobs
};

}  // namespace holdfast::stores::zookeeper
