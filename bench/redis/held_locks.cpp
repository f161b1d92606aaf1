// What it costs one client to keep 10,000 and 100,000 locks with a ttl of 30 s (L03): memory,
// requests and processor time. None may be lost.
#include <ctime>
#include <thread>

#include "redis/scene.hpp"
#include "use.hpp"

namespace {

using namespace std::chrono_literals;
namespace redis = bench::redis;

double server_memory(int port) {
  const auto reply = redis::Bare(port).command({"INFO", "memory"});
  const std::string_view text(reply->str, reply->len);
  return std::atof(text.substr(text.find("used_memory:") + 12).data());
}

double processor_seconds() {
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

void measure(const redis::Scene& scene, std::size_t locks, const std::string& many) {
  const double span = scene.seconds(20);  // Two renewals of each.
  const auto store = scene.open();
  const holdfast::LockOptions options{.ttl = 30s};
  std::vector<holdfast::Lease> leases;
  leases.reserve(locks);
  (void)store.lock("warm", options).acquire().value();

  const double server_before = server_memory(scene.port());
  const bench::Use before = bench::Use::now();
  for (std::size_t i = 0; i < locks; ++i) {
    const std::string number = std::to_string(i);
    const std::string name = "bench/held/" + std::string(21 - number.size(), '0') + number;
    leases.push_back(store.lock(name, options).acquire().value());
  }
  const bench::Use each = bench::Use::now().since(before, locks);
  const double kept = (server_memory(scene.port()) - server_before) / static_cast<double>(locks);

  redis::Requests requests(scene.port());
  const double busy_before = processor_seconds();
  std::this_thread::sleep_for(std::chrono::duration<double>(span));
  const auto sent = static_cast<double>(requests.count());
  const double busy = processor_seconds() - busy_before;
  const double after = bench::Use::now().since(before, locks).heap;
  for (const holdfast::Lease& lease : leases)
    if (!lease.valid()) throw std::runtime_error("a lock was lost");

  const std::string what = many + " held locks, ttl 30 s: ";
  bench::print_figure(what + "heap a lock in the client", {each.heap}, "B");
  bench::print_figure(what + "the same after renewals", {after}, "B");
  bench::print_figure(what + "resident a lock", {each.resident}, "B");
  bench::print_figure(what + "memory a lock in the server", {kept}, "B");
  bench::print_figure(what + "requests to keep them", {sent / span}, "/s");
  bench::print_figure(what + "processor time to keep them", {100 * busy / span}, "% of a core");
}

}  // namespace

int main(int count, char** arguments) {
  return redis::run(count, arguments, [](const redis::Scene& scene) {
    measure(scene, 10'000, "10,000");
    measure(scene, 100'000, "100,000");
  });
}
