// tests/stores/etcd_answers.hpp: the answers of our etcd client, for threads to wait for.
#pragma once

#include <future>
#include <memory>
#include <utility>

#include "stores/common/flow.hpp"
#include "stores/etcd/client.hpp"

namespace holdfast::stores::etcd {

// An answer that a thread can wait for, or ask whether it is there.
template <class R>
std::future<R> future_of(const Later<R>& later) {
  const auto answer = std::make_shared<std::promise<R>>();
  const auto pass_on = [](Later<R> from, std::shared_ptr<std::promise<R>> to) -> Flow {
    to->set_value(co_await from);
  };
  pass_on(later, answer);
  return answer->get_future();
}

template <class R>
R answer_of(const Later<R>& later) {
  return future_of(later).get();
}

template <class R>
bool is_there(const std::future<R>& answer) {
  return answer.wait_for(Millis(0)) == std::future_status::ready;
}

}  // namespace holdfast::stores::etcd
