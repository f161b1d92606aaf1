// tests/stores/redis_client.hpp: an open Redis store, for tests that stand where the core would.
#pragma once

#include <stdexcept>
#include <string>

#include "core/url.hpp"
#include "stores/recorder.hpp"

namespace holdfast::testing_support {

inline Url parsed(const std::string& text) {
  Url url;
  Problem problem;
  if (!core::parse_url(text, url, problem)) throw std::runtime_error(problem.text);
  return url;
}

class RedisStoreClient : public Client {
 public:
  explicit RedisStoreClient(const std::string& url) : Client(holdfast_module()->open, parsed(url)) {
    if (!*this) throw std::runtime_error(problem.text);
  }

  // As the core does while somebody waits: the same ask again, until the store has decided.
  Answer ask_until_decided(std::string_view name, const ClaimId& claim) {
    const BootTime end = BootClock::now() + 30s;
    for (;;) {
      Answer answer = ask(wanting(name, claim), 2s);
      const bool unavailable = answer.said == Said::no && answer.problem.errc == Errc::unavailable;
      if ((!unavailable && answer.said != Said::unknown) || BootClock::now() > end) return answer;
    }
  }
};

}  // namespace holdfast::testing_support
