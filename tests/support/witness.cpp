#include "support/witness.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>

namespace holdfast::support {
namespace {

constexpr std::size_t digits = 10;

}  // namespace

bool Witness::visit() const {
  const int door = ::open(door_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const bool alone = flock(door, LOCK_EX | LOCK_NB) == 0;
  const long before = visits();
  if (before % 8 == 0) sched_yield();  // A gap in which an intruder would lose a count.
  write(before + 1);
  close(door);
  return alone;
}

// One write of constant length, so that a process killed here has counted or has not.
void Witness::write(long count) const {
  const std::string number = std::to_string(count);
  const std::string text = std::string(digits - number.size(), '0') + number;
  const int counter = ::open(counter_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  if (pwrite(counter, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    throw std::system_error(errno, std::generic_category(), counter_.string());
  close(counter);
}

long Witness::visits() const {
  long count = 0;
  std::ifstream(counter_) >> count;
  return count;
}

}  // namespace holdfast::support
