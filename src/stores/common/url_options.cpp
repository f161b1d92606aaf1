#include "stores/common/url_options.hpp"

#include <algorithm>
#include <charconv>

#include "core/text.hpp"

namespace holdfast::stores {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t millis;
};
constexpr Unit units[] = {{"h", 3'600'000}, {"m", 60'000}, {"s", 1'000}, {"ms", 1}};

// As it would be written in a URL.
std::string written(Millis time) {
  const auto* const unit = std::ranges::find_if(
      units, [&](const Unit& each) { return time.count() % each.millis == 0; });
  return std::to_string(time.count() / unit->millis) + std::string(unit->name);
}

}  // namespace

void wrong_url(std::string text) { throw Problem{Errc::invalid, "url", std::move(text)}; }

std::string UrlOptions::take(std::string_view name) {
  const auto found = left_.find(name);
  if (found == left_.end()) return {};
  std::string value = std::move(found->second);
  left_.erase(found);
  return value;
}

bool UrlOptions::take_one_of(std::string_view name, std::string_view usual,
                             std::string_view other) {
  const std::string value = take(name);
  if (value.empty() || value == usual) return false;
  if (value == other) return true;
  wrong_url(std::string(name) + " is " + std::string(other) + " or " + std::string(usual));
}

Millis UrlOptions::take_time(std::string_view name, Millis usual, Millis least, Millis most) {
  const std::string text = take(name);
  if (text.empty()) return usual;
  const std::string word(name);
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  const auto* const unit = std::ranges::find(units, std::string_view(read.ptr, end), &Unit::name);
  if (read.ec != std::errc() || unit == std::end(units))
    wrong_url(word + " needs a number and a unit (ms, s, m, h): write for example " + word + "=2s");
  const std::int64_t too_many = most.count() / unit->millis + 1;
  const Millis time(std::clamp<std::int64_t>(number, -1, too_many) * unit->millis);
  if (time < least || time > most)
    wrong_url(word + " is from " + written(least) + " to " + written(most));
  return time;
}

std::size_t UrlOptions::take_dialect(std::initializer_list<std::string_view> known) {
  const std::string dialect = take("dialect");
  if (dialect.empty()) return 0;
  const auto* const found = std::ranges::find(known, dialect);
  if (found != known.end()) return static_cast<std::size_t>(found - known.begin()) + 1;
  std::string all;
  for (const std::string_view each : known)
    all += (all.empty() ? "dialect=" : " and dialect=") + std::string(each);
  wrong_url(store_ + " knows no dialect '" + core::escaped(dialect) + "'; there " +
            (known.size() == 1 ? "is " : "are ") + all);
}

net::TlsOptions UrlOptions::take_tls(bool on, std::string_view how) {
  net::TlsOptions tls;
  tls.ca_file = take("ca");
  tls.certificate_file = take("cert");
  tls.key_file = take("key");
  tls.revoked_file = take("crl");
  tls.verify = !take_switch("insecure");
  const bool plain = tls.ca_file.empty() && tls.certificate_file.empty() && tls.key_file.empty() &&
                     tls.revoked_file.empty() && tls.verify;
  if (!on && !plain)
    wrong_url("ca, crl, cert, key and insecure are of use with TLS only: write " +
              std::string(how));
  if (tls.certificate_file.empty() != tls.key_file.empty())
    wrong_url("a client certificate needs both cert=FILE and key=FILE");
  return tls;
}

void UrlOptions::end() const {
  if (!left_.empty())
    throw Problem{Errc::invalid, "unknown_option",
                  store_ + " knows no option '" + core::escaped(left_.begin()->first) + "'"};
}

std::string host_and_port(const Url::Host& host, std::uint16_t usual_port) {
  const bool is_ipv6 = host.name.find(':') != std::string::npos;
  return (is_ipv6 ? '[' + host.name + ']' : host.name) + ':' +
         std::to_string(host.port ? host.port : usual_port);
}

}  // namespace holdfast::stores
