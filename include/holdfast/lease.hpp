// holdfast/lease.hpp: what you have while you hold a lock.
//
//   if (auto lease = lock.acquire()) {
//     std::stop_callback halt(lease->lost(), [&] { work.stop(); });
//     work.run(lease->token());        // the resource refuses tokens older than the newest it saw
//   }                                  // ~Lease releases
//
// A lease is a promise with an end. The process can be paused past that end at any instruction, so
// valid() is a hint and token() is the proof.
//
//   state      renewed     refused, or its end passed    release()    meaning
//   held       held        lost                          released     yours until left() is 0
//   at risk    held        lost                          released     yours; renewal has trouble
//   lost       lost        lost                          lost         stop: another may hold it
//   released   released    released                      released     given back in time
//
// Threads: any thread may call token(), valid(), left() and lost(), even while another thread is in
// release(). Moving, assigning or destroying a Lease needs the object to itself, because it is an
// ordinary object that no mutex guards: no other thread may use it at that moment. Give the other
// threads copies of token() and lost().
#pragma once

#include <memory>
#include <stop_token>

#include "holdfast/result.hpp"

namespace holdfast {

namespace detail {
struct Hold;
struct Access;
}  // namespace detail

class [[nodiscard]] Lease {
 public:
  Lease(Lease&& other) noexcept = default;
  Lease& operator=(Lease&& other) noexcept;  // releases the one it replaces
  ~Lease();  // releases; never throws; waits at most release_deadline (got by co_await: not at all)

  // 0 if the lease was moved from, or if the store mints no tokens.
  Token token() const noexcept;

  // Reads the clock itself, so it is right after any pause, even before any other thread has run.
  bool valid() const noexcept;

  // How long valid() stays true if no renewal comes.
  Millis left() const noexcept;

  // Stopped once, when the lease is lost: before anybody else can get the lock, unless the store
  // itself took it away, as revoke(name, true) does. Already stopped if the lease was lost before
  // this call. Callbacks run on a callback thread and must not throw.
  std::stop_token lost() const;

  // lost: it had ended before this call, so part of the work may have run unguarded.
  // unknown: not confirmed yet; the library keeps trying in the background. For a lease got by
  // co_await it does not wait and never says unknown. To release again is a success, unless lost.
  Result<void> release();

 private:
  friend struct detail::Access;
  explicit Lease(std::shared_ptr<detail::Hold> hold) noexcept : hold_(std::move(hold)) {}
  std::shared_ptr<detail::Hold> hold_;
};

}  // namespace holdfast
