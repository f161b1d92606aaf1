// lab/network.hpp: the links between processes and nodes. A message is delayed, comes too late,
// gets lost or finds its link cut, but it never comes twice.
#pragma once

#include "lab/plan.hpp"

namespace holdfast::lab {

enum class Way : std::uint8_t { there, back };

class Network {
 public:
  Network(World& world, const Plan& plan, bool recorded);

  // `arrives` runs at the far end, or never.
  void request(std::int16_t process, std::int16_t node, Action arrives);
  void reply(std::int16_t process, std::int16_t node, Action arrives);
  void message(std::int16_t process, std::int16_t node, Action arrives);  // pushed by the node

  void cut(std::int16_t process, std::int16_t node, Way way, bool is_cut) noexcept;
  void calm() noexcept;  // after this nothing is lost or late

 private:
  struct Line {
    bool cut[2] = {false, false};
  };
  Line& line(std::int16_t process, std::int16_t node) noexcept;
  void carry(std::int16_t process, std::int16_t node, Way way, unsigned loss, Action arrives);
  void tell(What what, std::int16_t process, std::int16_t node, Way way);

  World& world_;
  Chance chance_;
  NoisePlan noise_;
  const std::size_t nodes_;
  const bool recorded_;
  std::vector<Line> lines_;
};

}  // namespace holdfast::lab
