// stores/zookeeper/entry.hpp: what is known of one claim of ours, and what is to be done with it.
//
// What is asked about one claim is done one after the other, by one flow: so an ask that hangs and
// the release that follows it never meet at the server. An entry begins with the first ask and ends
// when its node is known to be gone.
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

// Copies: what a request points to is gone with its answer.
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
  std::shared_ptr<Batch> batch{};  // null: it was named as replaced …
  std::size_t index = 0;
  std::coroutine_handle<> then{};  // … by an ask that goes on afterwards
};
using Job = std::variant<AskJob, KeepJob, DropJob>;

enum class Standing : std::uint8_t {
  absent,
  waiting,
  held,
  ended,  // it was held and is no more
};

// Where a claim stands at the server, as far as we were told.
struct Place {
  Standing standing{};
  std::shared_ptr<Session> session{};  // in which its node was made
  std::string child{};                 // its node; empty: none that we know of
  std::string marker{};                // beside it; empty: none
  Shape shape{};
  std::int64_t number = 0;    // the czxid of its first node
  std::int64_t stamp_ms = 0;  // the server's time of that
  bool doubtful = false;      // a node may have been made that we were not told of
  bool leaving = false;       // it is being deleted
  bool revoked = false;

  // Its node is not there any more. The marker, which has no session, still may be.
  void node_is_gone() { *this = {.standing = standing, .marker = std::move(marker)}; }
};

struct Entry {
  Entry(const ClaimId& id, std::string_view its_name, std::string its_folder)
      : claim(id), name(its_name), folder(std::move(its_folder)) {}

  const ClaimId claim;
  const std::string name;
  const std::string folder;  // the lock's node

  // Under the mutex of the claims.
  Place place;
  std::deque<Job> jobs;
  bool served = false;  // by a flow
};

}  // namespace holdfast::stores::zookeeper
