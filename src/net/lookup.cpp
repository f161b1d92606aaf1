#include "net/lookup.hpp"

#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "net/trouble.hpp"

namespace holdfast::net {

Lookup::Lookup(const Place& place, stores::Descriptor bell)
    : place_(place), bell_(std::move(bell)) {}

std::shared_ptr<Lookup> Lookup::start(const Place& place, Problem& problem) {
  stores::Descriptor bell(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!bell) {
    problem = cannot_connect(place, errno);
    return nullptr;
  }
  const std::shared_ptr<Lookup> lookup(new Lookup(place, std::move(bell)));

  sigset_t all, before;  // The program's signals are for threads that expect them.
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = true;
  try {
    std::thread([lookup] { lookup->run(); }).detach();
  } catch (const std::system_error& error) {
    problem = cannot_connect(place, "no thread to look it up: " + words_of(error.code().value()));
    problem.reason = "resource";
    started = false;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started ? lookup : nullptr;
}

void Lookup::run() noexcept {
  ::pthread_setname_np(::pthread_self(), "holdfast-lookup");
  try {
    look();
  } catch (const std::bad_alloc&) {
    addresses_.clear();
    problem_ = {Errc::unavailable, "resource", "out of memory"};  // short enough to need no memory
  }
  done_.store(true, std::memory_order_release);
  ::eventfd_write(bell_.get(), 1);
}

void Lookup::look() {
  errno = 0;
  const int error = look_up(place_, 0, addresses_);
  if (error == EAI_SYSTEM) {
    problem_ = cannot_connect(place_, errno);
  } else if (error != 0) {
    problem_ = cannot_connect(place_, ::gai_strerror(error));
    if (error == EAI_MEMORY) problem_.reason = "resource";
  }
}

}  // namespace holdfast::net
