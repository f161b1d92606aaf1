// stores/redis/task.hpp: one command of ours on its way.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "holdfast/backend.hpp"
#include "stores/redis/reply.hpp"

namespace holdfast::stores::redis {

class Link;

class Task {
 public:
  virtual ~Task() = default;

  // Appends the command for that server. Asked for again after NOSCRIPT and after a redirection.
  virtual void write(std::string& out, const Link& link) = 0;
  // Understands the reply, or is told that there will be none. The exchange's mutex is held.
  virtual void read(const Reply& reply) = 0;
  virtual void refuse(Said said, const Problem& problem) noexcept = 0;
  // The server has refused it. Without memory it is refused in any case.
  virtual void refused(const Problem& problem) noexcept { refuse(Said::no, problem); }
  // Whether what it has read is worth nothing until replicas have it.
  virtual bool needs_replicas() const noexcept { return replicated; }
  // The same for another connection, if it travels on several already.
  virtual std::unique_ptr<Task> another() { return nullptr; }
  // Hands the answer over and ends. No mutex is held; the store may end with it.
  virtual void deliver(std::unique_ptr<Task> self) noexcept = 0;

  BootTime deadline = BootTime::max();
  BootTime late_at = BootTime::max();      // urgent: sent on one more connection then
  BootClock::duration late_after{};        // so long a wait, or so long a silence before it
  Millis silence{1000};                    // before its connection is given up, without an answer
  Link* via = nullptr;                     // where it was sent last
  Link* bound = nullptr;                   // for this server, whatever its slot
  std::uint16_t slot = 0;                  // of its keys, in a Cluster
  std::uint8_t redirections = 0;           // followed so far
  bool by_text = false;                    // the server did not know the script by its hash
  bool asking = false;                     // the slot is on its way to that server
  bool replicated = false;                 // counts only when replicas have it
  bool unattended = false;                 // nobody lends a thread for its answer
  bool urgent = false;                     // to be sent again does no harm, to wait does
  bool repeated = false;                   // was sent again: what it finds may be its own doing
  bool patient = false;                    // is not refused because the server cannot be reached
  std::unique_ptr<const Problem> put_off;  // why it had to be sent again

 private:
  friend class TaskQueue;
  std::unique_ptr<Task> next_;
};
using TaskPtr = std::unique_ptr<Task>;

// First in, first out; needs no memory of its own.
class TaskQueue {
 public:
  TaskQueue() = default;
  TaskQueue(TaskQueue&& other) noexcept
      : first_(std::move(other.first_)), last_(std::exchange(other.last_, nullptr)) {}
  TaskQueue& operator=(TaskQueue&& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
    return *this;
  }
  ~TaskQueue() {
    while (pop()) {
    }
  }

  bool empty() const noexcept { return !first_; }
  void push(TaskPtr task) noexcept {
    Task* added = task.get();
    (last_ ? last_->next_ : first_) = std::move(task);
    last_ = added;
  }
  TaskPtr pop() noexcept {
    TaskPtr first = std::move(first_);
    if (first) first_ = std::move(first->next_);
    if (!first_) last_ = nullptr;
    return first;
  }

 private:
  TaskPtr first_;
  Task* last_ = nullptr;
};

}  // namespace holdfast::stores::redis
