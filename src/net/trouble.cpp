#include "net/trouble.hpp"

#include <cerrno>
#include <system_error>

namespace holdfast::net {

std::string words_of(int error) { return std::generic_category().message(error); }

Problem cannot_connect(const Place& place, const std::string& why) {
  return {Errc::unavailable, "unreachable", "cannot connect to " + to_string(place) + ": " + why};
}

Problem cannot_connect(const Place& place, int error, const std::string& details) {
  Problem problem = cannot_connect(place, words_of(error) + details);
  for (const int lack : {EMFILE, ENFILE, ENOBUFS, ENOMEM})
    if (error == lack) problem.reason = "resource";
  return problem;
}

}  // namespace holdfast::net
