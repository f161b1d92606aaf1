// tests/faults/redis/on_redis.hpp: a server of a test's own, a raw client to meddle with it, the
// command on it, and what is asked of every holder in trouble.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "cli/cli.hpp"
#include "holdfast/holdfast.hpp"
#include "support/diary.hpp"
#include "support/redis/server.hpp"
#include "support/results.hpp"

namespace holdfast::support {

// A lease whose events are written down.
class Watched {
 public:
  explicit Watched(const std::string& url, StoreOptions options = {})
      : store(open(url, with(diary, std::move(options))).value()) {}

  Result<Lease> take(const std::string& name, const LockOptions& options) const {
    return store.lock(name, options).acquire();
  }
  long count(const std::string& name, Event::Kind kind) const { return diary.count(name, kind); }
  // Why it was lost; waits for that.
  std::string why_lost(const std::string& name) const {
    std::string why;
    EXPECT_TRUE(eventually([&] {
      for (const Event& event : diary.of(name))
        if (event.kind == Event::Kind::lost) why = event.reason;
      return !why.empty();
    }));
    return why;
  }
  bool renewed_again() const {
    const auto before = store.stats().renewed;
    return eventually([&] { return store.stats().renewed > before; });
  }

  const Diary diary;
  const Store store;

 private:
  static StoreOptions with(const Diary& diary, StoreOptions options) {
    options.on_event = diary.options().on_event;
    return options;
  }
};

// The text is anywhere in what a result's error says.
template <class T>
testing::AssertionResult says(const Result<T>& result, const std::string& text) {
  if (result) return testing::AssertionFailure() << "it succeeded";
  if (std::string(result.error().what()).find(text) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.error().what();
}

// `holdfast` on a store that is no file.
class OnRedis : public cli_test::Cli {
 protected:
  cli_test::Running::Plan plan_on(const std::string& url, const cli_test::Words& arguments) const {
    auto made = plan(arguments);
    made.environment["HOLDFAST_STORE"] = url;
    return made;
  }
  cli_test::Outcome holdfast_on(const std::string& url, const cli_test::Words& arguments) const {
    return cli_test::Running(plan_on(url, arguments)).wait();
  }

  const std::string name = "the/name";
  const std::string key = "hf:{the%2Fname}";
  const LockOptions long_lived{.ttl = held_long};
};

}  // namespace holdfast::support
