// holdfast/lease.hpp: what one holds, while one holds it.
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
//   held       held        lost                          released     ours until left() is 0
//   at risk    held        lost                          released     ours, but renewal has trouble
//   lost       lost        lost                          lost         stop: it may be another's
//   released   released    released                      released     given back in time
//
// Threads: one thread at a time moves or releases a Lease; any thread may read it.
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

  // 0 for a lease that was moved from, and on a store that mints no tokens.
  Token token() const noexcept;

  // Reads the clock at this call: right after any pause, before any thread of ours has run.
  bool valid() const noexcept;

  // How long valid() stays true if no renewal comes.
  Millis left() const noexcept;

  // Stopped once, before the lease can be somebody else's. Made at the first call; already stopped
  // if the loss was before. Its callbacks run on a thread of ours and must not throw.
  std::stop_token lost() const;

  // lost: it had ended before this call, so part of the work may have run unguarded.
  // unknown: not confirmed yet; that goes on in the background. Twice: the second is a success.
  Result<void> release();

 private:
  friend struct detail::Access;
  explicit Lease(std::shared_ptr<detail::Hold> hold) noexcept : hold_(std::move(hold)) {}
  std::shared_ptr<detail::Hold> hold_;
};

}  // namespace holdfast
