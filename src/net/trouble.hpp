// net/trouble.hpp: why a connection could not be made, in words.
#pragma once

#include <string>

#include "holdfast/backend.hpp"
#include "net/place.hpp"

namespace holdfast::net {

std::string words_of(int error);  // errno

// "cannot connect to HOST:PORT: WHY". The reason is "resource" if this machine or process has run
// out of something, because then the server may be fine; else "unreachable".
Problem cannot_connect(const Place& place, int error, const std::string& details = {});
Problem cannot_connect(const Place& place, const std::string& why);

}  // namespace holdfast::net
