// stores/common/blocking.hpp: a backend whose client blocks.
//
// Starting a call puts a request in a queue. A thread that helps takes the client if it is free and
// runs all queued requests as one batch. So threads that meet share a transaction, and a thread
// that is alone needs no other. A thread whose request another thread runs sleeps until the request
// is answered, until it has to take over the client, or until it wants to leave.
//
// A store derives from this and implements how to run a batch and how to read messages.
#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "holdfast/backend.hpp"
#include "stores/common/request.hpp"
#include "stores/common/seats.hpp"

namespace holdfast::stores {

class Blocking : public Backend, public Cells {
 public:
  void ask(const Ask& ask, Pending<Answer>& call) noexcept final;
  void renew(std::span<const Keep> keeps, Pending<std::span<Answer>>& call) noexcept final;
  void release(std::span<const Drop> drops, Pending<std::span<Answer>>& call) noexcept final;
  void describe(std::string_view name, Pending<Listing>& call) noexcept final;
  void list(std::string_view prefix, Pending<Listing>& call) noexcept final;
  void revoke(std::string_view name, bool now, Pending<Answer>& call) noexcept final;
  void add(const Add& add, Pending<Cell>& call) noexcept final;
  void swap(const Swap& swap, Pending<Cell>& call) noexcept final;
  void get(std::string_view name, Pending<Cell>& call) noexcept final;
  void guarantees(Pending<Promise>& call) noexcept final;
  void init(Init what, Pending<Answer>& call) noexcept final;
  void inspect(Pending<Inspection>& call) noexcept final;

  void help(const Call* call, BootTime until, int wake) noexcept final;

 protected:
  // Answers the requests of the batch. One thread at a time calls it, with no mutex held. If it
  // gets nowhere, it returns at the earliest deadline in the batch; requests that it left
  // unanswered come again.
  virtual void run(std::span<Request> batch) noexcept = 0;

  // The descriptor that messages arrive on, or -1.
  virtual int messages() const noexcept { return -1; }

  struct Attended {
    BootTime again = BootTime::max();  // attend again then, message or not
    bool told = false;                 // hints were given
  };
  // Reads the messages that have arrived and gives the hints; never waits. Several threads may call
  // it at once.
  virtual Attended attend() noexcept { return {}; }

  // Makes the threads that stay for messages attend again, because what they wait on has changed.
  void rouse() noexcept;

 private:
  template <class Question, class Reply, class Delivered>
  void start(Started<Question, Reply, Delivered> started) noexcept;
  bool work() noexcept;
  bool sit(const Call& call, BootTime until, int wake) noexcept;
  void stay(BootTime until, int wake) noexcept;
  void put_back(std::vector<Request>& batch) noexcept;
  bool answer_overdue() noexcept;
  void deliver(std::vector<Request>& batch) noexcept;
  void ring_next() noexcept;
  const Request* queued(const Call& call) const noexcept;

  std::mutex mutex_;
  std::vector<Request> queued_;
  Seats seats_;
  bool busy_ = false;  // a thread has the client
};

}  // namespace holdfast::stores
