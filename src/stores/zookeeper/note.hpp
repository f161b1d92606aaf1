// stores/zookeeper/note.hpp: what a claim's node says besides its name: words on the first line,
// then who made it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::stores::zookeeper {

struct Note {
  bool granted = false;     // for those behind, who watch it
  bool revoked = false;     // its holder is to let go
  std::int64_t number = 0;  // of the grant, where the node is not the claim's first
  std::string about;
};

std::string written(const Note& note);
Note read_note(std::string_view data);  // whatever is there

}  // namespace holdfast::stores::zookeeper
