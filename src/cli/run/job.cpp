#include "cli/run/job.hpp"

#include <sys/socket.h>

#include <algorithm>

#include "cli/output.hpp"
#include "cli/text.hpp"

namespace holdfast::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t nanoseconds(Millis span) { return std::chrono::nanoseconds(span).count(); }

}  // namespace

Timing::Timing(Millis given) noexcept
    : ttl(given),
      margin(std::max<Millis>(200ms, ttl / 10)),
      grace(nanoseconds(std::min<Millis>(ttl / 6, 5s))),
      beat(nanoseconds(ttl) / 6),
      silence(nanoseconds(ttl) / 100 * 99 - grace - nanoseconds(margin)) {}

void send(int line, Message message) noexcept {
  // The other side may be gone, or stopped with a full line; other code notices both.
  ::send(line, &message, sizeof message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void tell(const Job& job, const std::string& line) {
  if (job.options.status_descriptor != -1)
    write_briefly(job.options.status_descriptor, line + "\n");
}

void tell_acquired(const Job& job, Token token) {
  tell(job, "acquired token=" + std::to_string(token.value) +
                " ttl=" + std::to_string(job.timing.ttl.count()) + "ms");
}

void tell_loss(const Job& job, const std::string& why) {
  if (job.pulse.loss_told.exchange(true)) return;
  tell(job, "lost");
  const auto* deed =
      job.options.stop_when_lost ? "; the command is stopped" : "; the command goes on unguarded";
  complain("lost '" + job.options.name + "': " + why + deed);
}

}  // namespace holdfast::cli
