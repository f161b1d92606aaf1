// lab/client.hpp: a user in a process, who takes locks again and again and works under them.
#pragma once

#include <memory>

#include "lab/caller.hpp"
#include "lab/leases.hpp"

namespace holdfast::lab {

class Client {
 public:
  Client(Shop& shop, std::uint64_t number);
  ~Client();
  void begin();

 private:
  struct Held {
    Op op;
    std::shared_ptr<core::Hold> hold;
  };

  void think();
  void ask(bool again);
  std::shared_ptr<core::Wish> wish(const Op& op, bool fair);
  void choose_wait();
  void settled();
  void work();
  void work_on();
  void give_back();
  void given_back(const Op& op, const char* said);
  bool valid(core::Hold& hold);

  Shop& shop_;
  Chance chance_;
  const std::uint64_t number_;  // unique among all clients that ever lived
  unsigned rounds_;
  bool owns_ = false;  // may re-enter in this round
  unsigned steps_ = 0;
  Nanos pace_{};
  Op asked_;
  std::shared_ptr<Caller> caller_;
  std::vector<Held> held_;  // the latest last
};

}  // namespace holdfast::lab
