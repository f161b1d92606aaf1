// lab/process.hpp: a client's process: a machine that has the store open for as long as it lives.
#pragma once

#include "lab/desk.hpp"

namespace holdfast::lab {

class Shop;

class Process final : public Machine {
 public:
  Process(Scene& scene, std::int16_t number);
  ~Process();

  std::int16_t number() const noexcept { return number_; }
  Desk& desk() noexcept { return desk_; }
  Hints* hints() noexcept;  // of this life; null: the process is dead
  Shop* shop() noexcept { return shop_.get(); }
  core::Moment moment() noexcept { return {boot(), wall_ahead(), entropy_}; }

  void begin();  // a new life
  void crash(Nanos for_how_long);
  void stand_still(Nanos for_how_long);
  // Pauses when it next reaches such a place.
  void stand_still_at(Where where, Nanos for_how_long);
  void reach(Where where);
  void drift(std::int64_t parts_per_million);
  void calm();

 private:
  void go_on();

  struct Trap {
    Where where;
    Nanos length;
  };

  Scene& scene_;
  const std::int16_t number_;
  Chance entropy_;
  Desk desk_;
  std::unique_ptr<Shop> shop_;
  std::vector<Trap> traps_;
  std::uint64_t pauses_ = 0;
  Time resumed_{-Millis(1000)};
};

}  // namespace holdfast::lab
