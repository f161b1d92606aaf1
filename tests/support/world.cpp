#include "support/world.hpp"

#include <algorithm>

#include "support/faulty.hpp"
#include "support/lender.hpp"

namespace holdfast::support {

std::string with_option(std::string url, std::string_view option) {
  if (option.empty()) return url;
  const std::string key = std::string(option.substr(0, option.find('='))) + "=";
  for (const auto* mark : {"?", "&"})
    if (const auto at = url.find(mark + key); at != url.npos)
      return url.replace(at + 1, std::min(url.find('&', at + 1), url.size()) - at - 1, option);
  url += url.find('?') == std::string::npos ? '?' : '&';
  return url.append(option);
}

World::World(const StoreCase& row) : site_(row.host == Host::lender ? borrow(row) : row.site()) {}

Store World::client(const StoreOptions& options, std::string_view option) const {
  return open(url(option), options).value();
}

const Traits& World::traits() {
  if (!traits_) traits_ = std::make_unique<Traits>(FaultyClient(url()).traits());
  return *traits_;
}

std::uint64_t World::renewals(std::uint64_t counted) {
  if (traits().validity == Validity::claim) return counted;
  return static_cast<std::uint64_t>((std::chrono::steady_clock::now() - begun_) /
                                    (traits().session / 3));
}

}  // namespace holdfast::support
