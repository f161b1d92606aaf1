// A program that measures one library's lock; ours is one of them. All obey the same lines, so that
// all are measured alike:
//
//   pairs SECONDS       {"a_second": N}               one thread takes and gives back a free lock
//   contended SECONDS   {"a_second": N, "jain": N}    changes of owner, 16 threads and one lock
//   take                {"at": N}                     got it then, in ns of the monotonic clock
//   give                {"at": N}                     began to give it back then
//
// They stay for all rounds, so that a virtual machine is warm when it is measured.
#pragma once

#include <stdexcept>

#include "contention.hpp"
#include "support/process.hpp"

namespace bench {

class Peer {
 public:
  using Command = std::vector<std::string>;
  explicit Peer(const Command& command) : process_(command) {}

  // A peer installs itself first; false if it could not.
  bool ready() try {
    return process_.read(std::chrono::minutes(5)) == "ready";
  } catch (const std::exception&) {
    return false;
  }

  double pairs(double seconds) { return number(measured("pairs", seconds), "a_second"); }
  Contention contended(double seconds) {
    const auto answer = measured("contended", seconds);
    return {number(answer, "a_second"), number(answer, "jain")};
  }

  void start_take() { process_.send("take"); }
  double taken() { return number(process_.read(), "at"); }
  double take() {
    start_take();
    return taken();
  }
  double give() { return number(process_.ask("give"), "at"); }

 private:
  std::string measured(const std::string& what, double seconds) {
    const std::chrono::duration<double> patience(seconds + 60);
    process_.send(what + " " + std::to_string(seconds));
    return process_.read(std::chrono::ceil<holdfast::Millis>(patience));
  }
  static double number(const std::string& json, const std::string& field) {
    const auto key = '"' + field + "\": ";
    const auto at = json.find(key);
    if (at == std::string::npos) throw std::runtime_error("a peer says: " + json);
    return std::stod(json.substr(at + key.size()));
  }

  holdfast::support::Process process_;
};

}  // namespace bench
