#include "stores/redis/request.hpp"

#include <charconv>
#include <limits>

namespace holdfast::stores::redis {
namespace {

// '*' or '$', a number, and the end of the line.
void append_head(std::string& out, char type, std::size_t number) {
  char head[std::numeric_limits<std::size_t>::digits10 + 4];
  head[0] = type;
  char* end = std::to_chars(head + 1, head + sizeof head, number).ptr;
  *end++ = '\r';
  *end++ = '\n';
  out.append(head, end);
}

}  // namespace

Request::Request(std::string& out, std::size_t arguments) : out_(out) {
  append_head(out_, '*', arguments);
}

Request& Request::operator<<(std::string_view argument) {
  append_head(out_, '$', argument.size());
  out_.append(argument).append("\r\n", 2);
  return *this;
}

Request& Request::operator<<(std::int64_t argument) {
  char digits[std::numeric_limits<std::int64_t>::digits10 + 2];
  const char* const end = std::to_chars(digits, digits + sizeof digits, argument).ptr;
  return *this << std::string_view(digits, end);
}

}  // namespace holdfast::stores::redis
