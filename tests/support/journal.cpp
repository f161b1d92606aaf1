#include "support/journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace holdfast::support {

std::optional<Descriptor> Journal::enter(int who, Token token) const {
  Descriptor file(::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) return std::nullopt;
  const std::string line = std::to_string(who) + " " + std::to_string(token.value) + "\n";
  if (::write(file.get(), line.data(), line.size()) < 0) return std::nullopt;
  return file;
}

std::vector<Journal::Line> Journal::lines() const {
  std::vector<Line> all;
  std::ifstream file(file_);
  for (Line line; file >> line.who >> line.token.value;) all.push_back(line);
  return all;
}

}  // namespace holdfast::support
