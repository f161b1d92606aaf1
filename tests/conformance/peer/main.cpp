// conformance_peer URL: takes one command a line from its input and answers each with one line.
//
//   acquire NAME [OPTION…]     held TOKEN | error CODE REASON (options: see support/peer.hpp)
//   release NAME               released | error CODE REASON
//   valid NAME, lost NAME      yes | no
//   left NAME                  for how many milliseconds it is still valid
//   listed NAME                how many hold it or wait for it
//   renewed                    how many renewals so far
//   debts                      how many releases and withdrawals are not confirmed yet
//   visit NAME FOLDER ROUNDS [OPTION…]
//                              clean | intruder: acquires, visits a Witness, releases
//   toil NAME FOLDER WHO [OPTION…]
//                              INTRUDERS LOSSES TROUBLES, counted until there is a file `enough`
//                              in the folder: acquires, stays in a Journal for a while, releases,
//                              and goes on after every loss
//   crowd NAME COUNT [OPTION…] ok: that many coroutines wait for it, and release it at once
//   served                     how many of those have had it
//   beside COMMAND             the answer to COMMAND when it ends; others may come meanwhile
//   exit, quick_exit           ends while it still holds everything
//
//   jump MS                    moves its boot and wall clock ahead, as after a suspend
//   wall_clock MS              sets the wall clock this much ahead (or behind)
//   wild_clock                 … by another hour at each millisecond, from now on
//   descriptors N, no_descriptors, no_threads
//                              limits of this process
//   starve NTH NAME [OPTION…]  acquires while the nth allocation fails: held TOKEN | bad_alloc |
//                              error CODE REASON; and `unharmed` if there were fewer
//   starve_others NTH          ok: the nth allocation of all threads but this one will fail
//   starved                    yes | no: it has failed
//
// The first command that needs the store opens it. At the end of the input the process releases
// what it holds, and ends.
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>

#include "holdfast/holdfast.hpp"
#include "peer/limits.hpp"
#include "support/detached.hpp"
#include "support/eventually.hpp"
#include "support/journal.hpp"
#include "support/own_clock.hpp"
#include "support/witness.hpp"

namespace holdfast::support {
namespace {

class Client {
 public:
  explicit Client(std::string url) : url_(std::move(url)) {}

  std::string obey(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    const auto found = commands().find(command);
    if (found == commands().end()) return "error invalid command";
    try {
      return found->second(*this, words);
    } catch (const Error& error) {
      return told(error);
    }
  }

  void say(const std::string& answer) {
    const std::lock_guard guard(mutex_);
    if (!answer.empty()) std::cout << answer << std::endl;
  }

 private:
  using Words = std::istringstream;
  using Command = std::function<std::string(Client&, Words&)>;
  static const std::map<std::string, Command>& commands();

  static std::string told(const Error& error) {
    return "error " + std::string(to_string(error.errc())) + " " + std::string(error.reason());
  }
  static std::string said(bool yes) { return yes ? "yes" : "no"; }
  template <class T>
  static T next(Words& words) {
    T value{};
    words >> value;
    return value;
  }

  const Store& store() {
    if (!store_) store_ = open(url_, {.release_deadline = release_deadline}).value();
    return *store_;
  }
  Lease& lease(Words& words) { return leases_.at(next<std::string>(words)); }

  Lock lock(const std::string& name, Words& words) {
    LockOptions options;
    std::string kind;
    for (std::string word; words >> word;) {
      const auto equals = word.find('=');
      const auto key = word.substr(0, equals);
      const auto value = [&] { return Millis(std::stol(word.substr(equals + 1))); };
      if (key == "ttl")
        options.ttl = value();
      else if (key == "wait")
        options.wait = value();
      else if (key == "hold_at_most")
        options.hold_at_most = value();
      else if (key == "lock_delay")
        options.lock_delay = value();
      else
        kind = word;
    }
    if (kind == "read") return store().rw_lock(name, options).read();
    if (kind == "write") return store().rw_lock(name, options).write();
    if (kind.starts_with("permits=")) {
      const auto weight = static_cast<std::uint32_t>(std::stoul(kind.substr(8)));
      const auto permits = static_cast<std::uint32_t>(std::stoul(kind.substr(kind.find('/') + 1)));
      return store().semaphore(name, permits, options).permits(weight);
    }
    return store().lock(name, options);
  }

  std::string keep(const std::string& name, Result<Lease> lease) {
    if (!lease) return told(lease.error());
    const auto token = lease->token().value;
    leases_.insert_or_assign(name, std::move(*lease));
    return "held " + std::to_string(token);
  }

  std::string acquire(Words& words) {
    const auto name = next<std::string>(words);
    return keep(name, lock(name, words).acquire());
  }

  std::string release(Words& words) {
    const auto found = leases_.find(next<std::string>(words));
    if (found == leases_.end()) return "error invalid not_held";
    const auto released = found->second.release();
    leases_.erase(found);
    return released ? "released" : told(released.error());
  }

  std::string listed(Words& words) {
    return std::to_string(store().list(next<std::string>(words)).value().size());
  }

  std::string visit(Words& words) {
    const auto name = next<std::string>(words);
    const Witness witness(next<std::string>(words));
    int rounds = next<int>(words);
    const auto wanted = lock(name, words);
    bool clean = true;
    for (; rounds > 0; --rounds) {
      const auto lease = wanted.acquire().value();
      clean &= witness.visit();
    }
    return clean ? "clean" : "intruder";
  }

  std::string toil(Words& words) {
    using Clock = std::chrono::steady_clock;
    const auto name = next<std::string>(words);
    const std::filesystem::path folder = next<std::string>(words);
    const Journal journal(folder);
    const int who = next<int>(words);
    const auto wanted = lock(name, words);
    int intruders = 0, losses = 0, troubles = 0;
    while (!std::filesystem::exists(folder / "enough")) {
      auto lease = wanted.try_acquire_for(Millis(60'000));
      if (!lease) {
        ++troubles;
        continue;
      }
      if (const auto inside = journal.enter(who, lease->token())) {
        const auto enough = Clock::now() + Millis(3);
        while (Clock::now() < enough && lease->valid()) std::this_thread::sleep_for(Millis(1));
      } else if (lease->valid()) {
        ++intruders;
      }
      if (const auto released = lease->release(); !released)
        losses += released.error().errc() == Errc::lost;
    }
    return std::to_string(intruders) + " " + std::to_string(losses) + " " +
           std::to_string(troubles);
  }

  static Detached wait_for(Lock wanted, std::atomic<int>& served) {
    const auto lease = co_await wanted.acquire_async();
    if (lease) ++served;
  }

  std::string crowd(Words& words) {
    const auto name = next<std::string>(words);
    int count = next<int>(words);
    const auto wanted = lock(name, words);
    for (; count > 0; --count) wait_for(wanted, served_);
    return "ok";
  }

  std::string beside(Words& words) {
    store();  // Opened here, because two threads must not open it.
    std::string command;
    std::getline(words, command);
    beside_ = std::jthread([this, command] { say(obey(command)); });
    return {};
  }

  std::string wild_clock(Words&) {
    wild_ = std::jthread([](const std::stop_token& enough) {
      for (long hour = 1; !enough.stop_requested(); hour = hour > 50 ? -50 : hour + 7) {
        set_wall_clock_ahead(std::chrono::hours(hour));
        std::this_thread::sleep_for(Millis(1));
      }
      set_wall_clock_ahead({});
    });
    return "ok";
  }

  std::string starve(Words& words) {
    const auto nth = next<long>(words);
    const auto name = next<std::string>(words);
    const auto wanted = lock(name, words);
    fail_allocation(nth);
    std::optional<Result<Lease>> lease;
    try {
      lease = wanted.acquire();
    } catch (const std::bad_alloc&) {
    }
    const bool harmed = allocation_failed();
    fail_allocation(0);
    const auto answer = lease ? keep(name, std::move(*lease)) : "bad_alloc";
    return harmed ? answer : answer + " unharmed";
  }

  template <class Action>
  static std::string done(Action action) {
    action();
    return "ok";
  }

  std::string url_;
  std::optional<Store> store_;
  std::map<std::string, Lease> leases_;
  std::atomic<int> served_{0};
  std::jthread wild_;
  std::mutex mutex_;  // for the output
  std::jthread beside_;
};

const std::map<std::string, Client::Command>& Client::commands() {
  static const std::map<std::string, Command> all = {
      {"acquire", &Client::acquire},
      {"release", &Client::release},
      {"listed", &Client::listed},
      {"visit", &Client::visit},
      {"toil", &Client::toil},
      {"crowd", &Client::crowd},
      {"served", [](Client& client, Words&) { return std::to_string(client.served_.load()); }},
      {"beside", &Client::beside},
      {"wild_clock", &Client::wild_clock},
      {"starve", &Client::starve},
      {"starve_others",
       [](Client&, Words& words) {
         return done([&] { fail_allocation_of_others(next<long>(words)); });
       }},
      {"starved", [](Client&, Words&) { return said(allocation_failed()); }},
      {"valid", [](Client& client, Words& words) { return said(client.lease(words).valid()); }},
      {"lost", [](Client& client,
                  Words& words) { return said(client.lease(words).lost().stop_requested()); }},
      {"left", [](Client& client,
                  Words& words) { return std::to_string(client.lease(words).left().count()); }},
      {"renewed",
       [](Client& client, Words&) { return std::to_string(client.store().stats().renewed); }},
      {"debts",
       [](Client& client, Words&) { return std::to_string(client.store().stats().debts); }},
      {"jump",
       [](Client&, Words& words) { return done([&] { jump(Millis(next<long>(words))); }); }},
      {"wall_clock",
       [](Client& client, Words& words) {
         client.wild_ = {};
         return done([&] { set_wall_clock_ahead(Millis(next<long>(words))); });
       }},
      {"descriptors",
       [](Client&, Words& words) {
         return done([&] { limit_descriptors(next<unsigned long>(words)); });
       }},
      {"no_descriptors", [](Client&, Words&) { return done(use_up_descriptors); }},
      {"no_threads", [](Client&, Words&) { return done(forbid_threads); }},
      {"exit", [](Client&, Words&) { return done([] { std::exit(0); }); }},
      {"quick_exit", [](Client&, Words&) { return done([] { std::quick_exit(0); }); }},
  };
  return all;
}

}  // namespace
}  // namespace holdfast::support

int main(int count, char** arguments) {
  if (count != 2) return 64;
  // static: exit() ends its leases after the library's later globals, and before its earlier ones.
  static holdfast::support::Client client(arguments[1]);
  for (std::string line; std::getline(std::cin, line);) client.say(client.obey(line));
}
