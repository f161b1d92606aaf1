// tests/stores/redis_client.hpp: an open Redis store, for tests that stand in for the core.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>

#include "core/url.hpp"
#include "stores/recorder.hpp"
#include "support/eventually.hpp"

namespace holdfast::testing_support {

inline Url parsed(const std::string& text) {
  Url url;
  Problem problem;
  if (!core::parse_url(text, url, problem)) throw std::runtime_error(problem.text);
  return url;
}

inline bool refused_for(const Answer& answer, std::string_view words) {
  return answer.said == Said::no &&
         (answer.problem.reason == words || answer.problem.text.find(words) != std::string::npos);
}

class RedisStoreClient : public Client {
 public:
  explicit RedisStoreClient(const std::string& url) : Client(holdfast_module()->open, parsed(url)) {
    if (!*this) throw std::runtime_error(problem.text);
  }

  // Asks again until `told` accepts the answer: on a slow machine the time may be up before the
  // store has heard what it should tell.
  Answer ask_until(std::string_view name, Millis within,
                   const std::function<bool(const Answer&)>& told) {
    Answer answer;
    support::eventually([&] { return told(answer = ask(wanting(name, fresh_claim()), within)); });
    return answer;
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
