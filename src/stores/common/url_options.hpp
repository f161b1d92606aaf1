// stores/common/url_options.hpp: what a store's URL says behind its "?", taken one by one.
//
// What makes no sense is thrown as a Problem, inside read_url() only: the first of it ends the
// reading.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "holdfast/backend.hpp"
#include "net/tls.hpp"

namespace holdfast::stores {

[[noreturn]] void wrong_url(std::string text);

// False and a problem if it throws one.
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

  std::string take(std::string_view name);  // empty: it is not there
  // True if it is the other.
  bool take_one_of(std::string_view name, std::string_view usual, std::string_view other);
  bool take_switch(std::string_view name) { return take_one_of(name, "off", "on"); }
  Millis take_time(std::string_view name, Millis usual, Millis least, Millis most);
  // Which of these, counted from 1; 0: none.
  std::size_t take_dialect(std::initializer_list<std::string_view> known);
  // `how` TLS is asked for, should there be options for it without it.
  net::TlsOptions take_tls(bool on, std::string_view how);
  void end() const;  // nothing is left

 private:
  const std::string store_;
  std::map<std::string, std::string, std::less<>> left_;
};

std::string host_and_port(const Url::Host& host, std::uint16_t usual_port);

}  // namespace holdfast::stores
