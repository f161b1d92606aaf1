// holdfast URL: our own lock, driven by the lines that all peers obey (see peers/peer.hpp).
#include <iostream>
#include <optional>
#include <sstream>

#include "contention.hpp"
#include "holdfast/holdfast.hpp"
#include "pairs.hpp"

namespace {

using Span = std::chrono::duration<double>;

class Ours {
 public:
  explicit Ours(const std::string& url)
      : lock_(holdfast::open(url).value().lock("bench", {.wait = std::chrono::seconds(60)})) {}

  std::string obey(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    double seconds = 0;
    words >> command >> seconds;
    if (command == "pairs") return pairs(seconds);
    if (command == "contended") return contended(seconds);
    if (command == "take") return take();
    if (command == "give") return give();
    throw std::runtime_error("there is no command " + command);
  }

 private:
  static std::string field(const std::string& name, double value) {
    return '"' + name + "\": " + std::to_string(value);
  }
  static std::string moment() {
    const auto now = std::chrono::nanoseconds(bench::Clock::now().time_since_epoch());
    return "{\"at\": " + std::to_string(now.count()) + '}';
  }

  std::string pairs(double seconds) {
    const double many =
        bench::pairs_a_second(seconds, [&] { lock_.acquire().value().release().value(); });
    return '{' + field("a_second", many) + '}';
  }
  std::string contended(double seconds) {
    const auto had = bench::contend(Span(seconds), [&](std::size_t, auto&& work) {
      const auto lease = lock_.acquire().value();
      work();
    });
    return '{' + field("a_second", had.handovers) + ", " + field("jain", had.jain) + '}';
  }
  std::string take() {
    lease_ = lock_.acquire().value();
    return moment();
  }
  std::string give() {
    auto began = moment();
    lease_->release().value();
    return began;
  }

  holdfast::Lock lock_;
  std::optional<holdfast::Lease> lease_;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 64;
  try {
    Ours ours(arguments[1]);
    std::cout << "ready" << std::endl;
    for (std::string line; std::getline(std::cin, line);) std::cout << ours.obey(line) << std::endl;
    return 0;
  } catch (const std::exception& trouble) {
    std::cerr << "holdfast: " << trouble.what() << '\n';
    return 1;
  }
}
