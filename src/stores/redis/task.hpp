// stores/redis/task.hpp: one command on its way to a server and back.
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

  // Appends the command for that server. Called again after NOSCRIPT and after a redirection.
  virtual void write(std::string& out, const Link& link) = 0;
  // Takes the reply; refuse() says that there will be none. Both require the exchange's mutex.
  virtual void read(const Reply& reply) = 0;
  virtual void refuse(Said said, const Problem& problem) noexcept = 0;
  // The server answered with an error. If memory runs out, refuse() is called instead.
  virtual void refused(const Problem& problem) noexcept { refuse(Said::no, problem); }
  // True if what it has read counts only once replicas have it.
  virtual bool needs_replicas() const noexcept { return replicated; }
  // A copy for one more connection, if the task travels on several already.
  virtual std::unique_ptr<Task> another() { return nullptr; }
  // Hands over the answer. Called without the mutex, because the answer may start another call.
  virtual void deliver(std::unique_ptr<Task> self) noexcept = 0;

  BootTime deadline = BootTime::max();
  BootTime late_at = BootTime::max();      // if urgent: hedged then at the earliest
  BootClock::duration late_after{};        // a wait and a silence that make it late
  Millis silence{1000};                    // at its deadline, closes a link silent for so long
  Link* via = nullptr;                     // where it was sent last
  Link* bound = nullptr;                   // goes to this server, whatever its slot
  std::uint16_t slot = 0;                  // of its keys, in a Cluster
  std::uint8_t redirections = 0;           // followed so far
  bool by_text = false;                    // the server did not know the script by its hash
  bool asking = false;                     // the slot is moving to that server
  bool replicated = false;                 // counts only once replicas have it
  bool unattended = false;                 // no thread waits in help() for its answer
  bool urgent = false;                     // sending it twice is harmless, waiting is not
  bool repeated = false;                   // was sent twice: it may find its own effects
  bool patient = false;                    // not refused if the server cannot be reached
  std::unique_ptr<const Problem> put_off;  // why it had to be sent again

 private:
  friend class TaskQueue;
  std::unique_ptr<Task> next_;
};
using TaskPtr = std::unique_ptr<Task>;

// First in, first out. Allocates nothing.
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
