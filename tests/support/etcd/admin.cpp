#include "support/etcd/admin.hpp"

#include <sys/socket.h>
#include <sys/time.h>

#include <sstream>
#include <stdexcept>

#include "support/eventually.hpp"
#include "support/sockets.hpp"

namespace holdfast::support {
namespace {

std::string base64(const std::string& bytes) {
  constexpr auto digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    unsigned group = 0;
    for (std::size_t next = at; next < at + 3; ++next)
      group = group << 8 | (next < bytes.size() ? static_cast<unsigned char>(bytes[next]) : 0U);
    for (int shift = 18; shift >= 0; shift -= 6) out += digits[group >> shift & 63U];
  }
  for (std::size_t missing = (3 - bytes.size() % 3) % 3; missing > 0; --missing)
    out[out.size() - missing] = '=';
  return out;
}

std::string from_base64(const std::string& text) {
  const auto value_of = [](char digit) -> unsigned {
    if (digit >= 'A' && digit <= 'Z') return static_cast<unsigned>(digit - 'A');
    if (digit >= 'a' && digit <= 'z') return static_cast<unsigned>(digit - 'a') + 26;
    if (digit >= '0' && digit <= '9') return static_cast<unsigned>(digit - '0') + 52;
    return digit == '+' ? 62 : 63;
  };
  std::string bytes;
  unsigned bits = 0, count = 0;
  for (const char digit : text) {
    if (digit == '=') break;
    bits = bits << 6 | value_of(digit);
    if ((count += 6) < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFF);
  }
  return bytes;
}

std::string range_of(const std::string& prefix) {
  auto end = prefix;
  ++end.back();
  return R"({"key":")" + base64(prefix) + R"(","range_end":")" + base64(end) + '"';
}

// The gateway writes 64-bit numbers as strings: "ID":"7587856…".
std::vector<std::int64_t> numbers(const std::string& json, const std::string& field) {
  std::vector<std::int64_t> all;
  const auto head = '"' + field + "\":\"";
  for (auto at = json.find(head); at != std::string::npos; at = json.find(head, at + 1))
    all.push_back(std::stoll(json.substr(at + head.size())));
  return all;
}

}  // namespace

std::string EtcdAdmin::post(const std::string& path, const std::string& body) const {
  return ask("POST " + path, body);
}

std::string EtcdAdmin::ask(const std::string& what, const std::string& body) const {
  const auto socket = connect_to(port_);
  const timeval bound{std::chrono::floor<std::chrono::seconds>(patient).count(), 0};
  setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &bound, sizeof bound);
  const auto request =
      what + " HTTP/1.0\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  send(socket.get(), request.data(), request.size(), MSG_NOSIGNAL);
  std::string answer;
  char bytes[16384];
  for (ssize_t size = 0; (size = receive(socket, bytes, sizeof bytes)) > 0;)
    answer.append(bytes, static_cast<std::size_t>(size));
  if (answer.find(" 200 OK") == std::string::npos)
    throw std::runtime_error("etcd answered " + what + " with: " + answer);
  return answer;
}

long EtcdAdmin::figure(const std::string& start) const {
  std::istringstream all(ask("GET /metrics", {}));
  double sum = 0;
  for (std::string line; std::getline(all, line);)
    if (line.starts_with(start)) sum += std::stod(line.substr(line.rfind(' ')));
  return static_cast<long>(sum);
}

std::vector<std::int64_t> EtcdAdmin::leases() const {
  return numbers(post("/v3/lease/leases", "{}"), "ID");
}

std::vector<std::string> EtcdAdmin::keys(const std::string& prefix) const {
  constexpr std::string_view head = "\"key\":\"";
  const auto answer = post("/v3/kv/range", range_of(prefix) + R"(,"keys_only":true})");
  std::vector<std::string> keys;
  for (auto at = answer.find(head); at != answer.npos; at = answer.find(head, at + 1)) {
    const auto begin = at + head.size();
    keys.push_back(from_base64(answer.substr(begin, answer.find('"', begin) - begin)));
  }
  return keys;
}

void EtcdAdmin::clear() const {
  for (const auto lease : leases()) revoke(lease);
  const auto zero = base64(std::string(1, '\0'));  // as both ends of a range: every key
  post("/v3/kv/deleterange", R"({"key":")" + zero + R"(","range_end":")" + zero + R"("})");
}

std::int64_t EtcdAdmin::first_lease(const std::string& key_prefix) const {
  const auto found =
      numbers(post("/v3/kv/range",
                   range_of(key_prefix) + R"(,"sort_target":"CREATE","sort_order":"ASCEND"})"),
              "lease");
  return found.empty() ? 0 : found.front();
}

void EtcdAdmin::revoke(std::int64_t lease) const try {
  post("/v3/lease/revoke", R"({"ID":")" + std::to_string(lease) + R"("})");
} catch (const std::runtime_error& error) {
  if (std::string(error.what()).find("lease not found") == std::string::npos) throw;
}

}  // namespace holdfast::support
