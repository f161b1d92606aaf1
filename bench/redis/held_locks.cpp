// What it costs one client to keep 10,000 locks with a ttl of 30 s: memory, and requests a second.
#include <thread>

#include "redis/scene.hpp"
#include "use.hpp"

namespace {

using namespace std::chrono_literals;
namespace redis = bench::redis;

constexpr std::size_t locks = 10'000;

double server_memory(int port) {
  const auto reply = redis::Bare(port).command({"INFO", "memory"});
  const std::string_view text(reply->str, reply->len);
  return std::atof(text.substr(text.find("used_memory:") + 12).data());
}

void measure(const redis::Scene& scene) {
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
  const double kept = (server_memory(scene.port()) - server_before) / locks;

  redis::Requests requests(scene.port());
  std::this_thread::sleep_for(std::chrono::duration<double>(span));
  const auto sent = static_cast<double>(requests.count());
  const double after = bench::Use::now().since(before, locks).heap;
  for (const holdfast::Lease& lease : leases)
    if (!lease.valid()) throw std::runtime_error("a lock was lost");

  const std::string what = "10,000 held locks, ttl 30 s: ";
  bench::print_figure(what + "heap a lock in the client", {each.heap}, "B");
  bench::print_figure(what + "the same after renewals", {after}, "B");
  bench::print_figure(what + "resident a lock", {each.resident}, "B");
  bench::print_figure(what + "memory a lock in the server", {kept}, "B");
  bench::print_figure(what + "requests to keep them", {sent / span}, "/s");
}

}  // namespace

int main(int count, char** arguments) { return redis::run(count, arguments, measure); }
