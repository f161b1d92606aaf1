// tests/support/diary.hpp: what a client's events said. The handler shares ownership, because
// events may still arrive after the client and the test are gone.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "holdfast/options.hpp"

namespace holdfast::support {

class Diary {
 public:
  StoreOptions options() const {
    return {.on_event = [pages = pages_](const Event& event) {
      const std::lock_guard guard(pages->mutex);
      pages->events.push_back(event);
    }};
  }
  std::vector<Event> of(const std::string& name) const {
    const std::lock_guard guard(pages_->mutex);
    auto events = pages_->events;
    std::erase_if(events, [&](const Event& event) { return event.name != name; });
    return events;
  }
  long count(const std::string& name, Event::Kind kind) const {
    return std::ranges::count(of(name), kind, &Event::kind);
  }

 private:
  struct Pages {
    std::mutex mutex;
    std::vector<Event> events;
  };
  std::shared_ptr<Pages> pages_ = std::make_shared<Pages>();
};

}  // namespace holdfast::support
