#include <unistd.h>

#include "stores/redis/store.hpp"

namespace holdfast::stores::redis {
namespace {

std::unique_ptr<Backend> open_redis(const Opening& opening, Problem& problem) {
  Options options;
  if (!read_options(opening.url, options, problem)) return nullptr;
  auto store = std::make_unique<RedisStore>(std::move(options), opening.hints);
  if (store->make()) return store;
  problem = {Errc::unavailable, "resource", "no file descriptor is left"};
  return nullptr;
}

constexpr Module module{
    .version = module_version,
    .schemes = "redis rediss redis+unix redis+sentinel redis+cluster",
    .open = open_redis,
};

}  // namespace
}  // namespace holdfast::stores::redis

extern "C" const holdfast::Module* holdfast_module() { return &holdfast::stores::redis::module; }
