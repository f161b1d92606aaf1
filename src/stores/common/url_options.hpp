// stores/common/url_options.hpp: the options behind the "?" of a store's URL, taken one by one.
//
// If an option makes no sense, a Problem is thrown and ends the reading. So use these only inside
// read_url(), which catches it.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "holdfast/backend.hpp"
#include "net/tls.hpp"

namespace holdfast::stores {

[[noreturn]] void wrong_url(std::string text);

// False, and a problem, if `read` throws one.
template <class Read>
bool read_url(Problem& problem, Read&& read) {
  try {
    read();
    return true;
  } catch (const Problem& thrown) {
    problem = thrown;
    return false;
  }
}

class UrlOptions {
 public:
  // `store` as in "a Redis store knows no option …".
  UrlOptions(const Url& url, std::string store) : store_(std::move(store)), left_(url.options) {}

  std::string take(std::string_view name);  // empty: not given
  // True if the URL says `other`.
  bool take_one_of(std::string_view name, std::string_view usual, std::string_view other);
  bool take_switch(std::string_view name) { return take_one_of(name, "off", "on"); }
  Millis take_time(std::string_view name, Millis usual, Millis least, Millis most);
  // The place in `known`, counted from 1; 0: the URL names no dialect.
  std::size_t take_dialect(std::initializer_list<std::string_view> known);
  // If the URL has TLS options but TLS is not `on`, the problem says `how` to ask for TLS.
  net::TlsOptions take_tls(bool on, std::string_view how);
  void end() const;  // throws if an option is left

 private:
  const std::string store_;
  std::map<std::string, std::string, std::less<>> left_;
};

std::string host_and_port(const Url::Host& host, std::uint16_t usual_port);

}  // namespace holdfast::stores
