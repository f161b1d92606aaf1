// stores/redis/request.hpp: commands to the server, as arrays of length-prefixed bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace holdfast::stores::redis {

// Appends a command to a buffer: first the number of arguments, then each argument.
class Request {
 public:
  Request(std::string& out, std::size_t arguments);
  Request& operator<<(std::string_view argument);
  Request& operator<<(std::int64_t argument);

 private:
  std::string& out_;
};

}  // namespace holdfast::stores::redis
