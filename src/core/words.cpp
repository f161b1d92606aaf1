// The words that users read for each enumerator.
#include "holdfast/backend.hpp"
#include "holdfast/result.hpp"

namespace holdfast {

std::string_view to_string(Errc code) noexcept {
  switch (code) {
    case Errc::busy: return "busy";
    case Errc::cancelled: return "cancelled";
    case Errc::lost: return "lost";
    case Errc::unknown: return "unknown";
    case Errc::unavailable: return "unavailable";
    case Errc::denied: return "denied";
    case Errc::unsupported: return "unsupported";
    case Errc::invalid: return "invalid";
    case Errc::corrupt: return "corrupt";
  }
  return "?";
}

std::string_view to_string(Kind kind) noexcept {
  switch (kind) {
    case Kind::mutex: return "mutex";
    case Kind::rw: return "read-write lock";
    case Kind::semaphore: return "semaphore";
  }
  return "?";
}

}  // namespace holdfast
