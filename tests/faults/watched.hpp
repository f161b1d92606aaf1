// tests/faults/watched.hpp: what tests ask about a holder in trouble.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "holdfast/holdfast.hpp"
#include "support/diary.hpp"
#include "support/results.hpp"

namespace holdfast::support {

// A client whose events are recorded.
class Watched {
 public:
  explicit Watched(const std::string& url, StoreOptions options = {})
      : store(open(url, with(diary, std::move(options))).value()) {}

  Result<Lease> take(const std::string& name, const LockOptions& options) const {
    return store.lock(name, options).acquire();
  }
  long count(const std::string& name, Event::Kind kind) const { return diary.count(name, kind); }
  // Waits for the loss, and tells why.
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

// Whether the error says this text somewhere.
template <class T>
testing::AssertionResult says(const Result<T>& result, const std::string& text) {
  if (result) return testing::AssertionFailure() << "it succeeded";
  if (std::string(result.error().what()).find(text) != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.error().what();
}

}  // namespace holdfast::support
