// stores/zookeeper/note.hpp: the data of a claim's node: words on the first line, then who made it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::stores::zookeeper {

struct Note {
  bool granted = false;     // for the claims behind, which watch it
  bool revoked = false;     // its holder must release it
  std::int64_t number = 0;  // of the grant; 0 in a claim's first node
  std::string about;
};

std::string written(const Note& note);
Note read_note(std::string_view data);  // takes any bytes

}  // namespace holdfast::stores::zookeeper
