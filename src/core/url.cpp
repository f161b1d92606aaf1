#include "core/url.hpp"

#include <algorithm>
#include <charconv>

#include "core/text.hpp"

namespace holdfast::core {
namespace {

bool refuse(Problem& problem, std::string text) {
  problem = {Errc::invalid, "bad_url", std::move(text)};
  return false;
}

bool decode(std::string_view text, std::string& into, std::string_view what, Problem& problem) {
  auto bytes = percent_decoded(text);
  if (!bytes)
    return refuse(problem, "store URL: a % in the " + std::string(what) +
                               " needs two hex digits; write %25 for %");
  if (bytes->find('\0') != std::string::npos)
    return refuse(problem, "store URL: the " + std::string(what) + " must not contain a NUL byte");
  into = std::move(*bytes);
  return true;
}

bool parse_scheme(std::string_view& rest, Url& url, Problem& problem) {
  const auto colon = rest.find(':');
  if (colon == std::string_view::npos || colon == 0)
    return refuse(problem, "store URL: a scheme is missing; write for example sqlite:FILE");
  const auto scheme = rest.substr(0, colon);
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-';
  };
  if (!std::all_of(scheme.begin(), scheme.end(), fits))
    return refuse(problem,
                  "store URL: a scheme has only lower-case letters, digits, + and -; write for "
                  "example sqlite:FILE");
  url.scheme = scheme;
  rest.remove_prefix(colon + 1);
  return true;
}

bool parse_port(std::string_view text, std::uint16_t& port, Problem& problem) {
  unsigned value = 0;
  const auto end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc() || read.ptr != end || value == 0 || value > 65535)
    return refuse(problem, "store URL: a port is a number from 1 to 65535");
  port = static_cast<std::uint16_t>(value);
  return true;
}

bool parse_host(std::string_view text, Url& url, Problem& problem) {
  Url::Host host;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos)
      return refuse(problem,
                    "store URL: an address in [ needs its ]; write for example [::1]:6379");
    host.name = text.substr(1, close - 1);
    const auto behind = text.substr(close + 1);
    if (!behind.empty() && behind[0] != ':')
      return refuse(problem, "store URL: behind ] comes :PORT or nothing");
    if (!behind.empty() && !parse_port(behind.substr(1), host.port, problem)) return false;
  } else {
    const auto colon = text.find(':');
    if (!decode(text.substr(0, colon), host.name, "host", problem)) return false;
    if (colon != std::string_view::npos && !parse_port(text.substr(colon + 1), host.port, problem))
      return false;
  }
  if (host.name.empty())
    return refuse(problem, "store URL: a host is missing between // and the path");
  url.hosts.push_back(std::move(host));
  return true;
}

bool parse_authority(std::string_view text, Url& url, Problem& problem) {
  url.has_authority = true;
  if (const auto at = text.rfind('@'); at != std::string_view::npos) {
    const auto who = text.substr(0, at);
    const auto colon = who.find(':');
    if (!decode(who.substr(0, colon), url.user, "user", problem)) return false;
    if (colon != std::string_view::npos &&
        !decode(who.substr(colon + 1), url.password, "password", problem))
      return false;
    text.remove_prefix(at + 1);
  }
  while (!text.empty()) {
    const auto comma = text.find(',');
    if (!parse_host(text.substr(0, comma), url, problem)) return false;
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) return refuse(problem, "store URL: a host is missing behind the last comma");
  }
  return true;
}

bool parse_options(std::string_view text, Url& url, Problem& problem) {
  while (!text.empty()) {
    const auto end = text.find('&');
    const auto pair = text.substr(0, end);
    const auto equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return refuse(problem,
                    "store URL: an option is written name=value, several with & between them");
    std::string name;
    std::string value;
    if (!decode(pair.substr(0, equals), name, "option name", problem)) return false;
    if (!decode(pair.substr(equals + 1), value, "option " + escaped(name, 64), problem))
      return false;
    if (!url.options.emplace(name, std::move(value)).second)
      return refuse(problem, "store URL: the option " + escaped(name, 64) + " stands there twice");
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return true;
}

}  // namespace

bool parse_url(std::string_view text, Url& url, Problem& problem) {
  url = {};
  std::string_view rest = text;
  if (text.size() > 4096) return refuse(problem, "store URL: longer than 4096 bytes");
  if (!parse_scheme(rest, url, problem)) return false;
  if (const auto mark = rest.find('?'); mark != std::string_view::npos) {
    if (!parse_options(rest.substr(mark + 1), url, problem)) return false;
    rest = rest.substr(0, mark);
  }
  if (rest.starts_with("//")) {
    rest.remove_prefix(2);
    const auto slash = rest.find('/');
    if (!parse_authority(rest.substr(0, slash), url, problem)) return false;
    rest = slash == std::string_view::npos ? std::string_view{} : rest.substr(slash);
  }
  return decode(rest, url.path, "path", problem);
}

std::string shown(const Url& url) {
  std::string out = url.scheme + ":";
  if (url.has_authority) {
    out += "//";
    if (!url.user.empty() || !url.password.empty())
      out += escaped(url.user) + (url.password.empty() ? "@" : ":***@");
    for (std::size_t i = 0; i < url.hosts.size(); ++i) {
      const auto& host = url.hosts[i];
      const bool six = host.name.find(':') != std::string::npos;
      out += (i ? "," : "") + (six ? "[" + host.name + "]" : escaped(host.name));
      if (host.port) out += ":" + std::to_string(host.port);
    }
  }
  out += escaped(url.path, 4096);
  char mark = '?';
  for (const auto& [name, value] : url.options) {
    const bool secret =
        name.find("pass") != std::string::npos || name.find("secret") != std::string::npos;
    out += mark + escaped(name) + "=" + (secret ? "***" : escaped(value));
    mark = '&';
  }
  return out;
}

}  // namespace holdfast::core
