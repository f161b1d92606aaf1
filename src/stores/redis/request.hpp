// stores/redis/request.hpp: what we say to the server: commands as arrays of length-prefixed bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::stores::redis {

// Appends commands to a buffer. The number of arguments is told first, then each in turn.
class Request {
 public:
  Request(std::string& out, std::size_t arguments);
  Request& operator<<(std::string_view argument);
  Request& operator<<(std::int64_t argument);

 private:
  std::string& out_;
};

}  // namespace holdfast::stores::redis
