#include "stores/common/closed_on_exec.hpp"
#include "stores/zookeeper/store.hpp"

namespace holdfast::stores::zookeeper {
namespace {

std::unique_ptr<Backend> open_zookeeper(const Opening& opening, Problem& problem) {
  Options options;
  if (!read_options(opening.url, options, problem)) return nullptr;
  return std::make_unique<ZooKeeperStore>(std::move(options), opening.hints);
}

constexpr Module module{
    .version = module_version,
    .schemes = "zookeeper",
    .open = open_zookeeper,
};

}  // namespace
}  // namespace holdfast::stores::zookeeper

extern "C" const holdfast::Module* holdfast_module() {
  holdfast::stores::open_closed_on_exec("libzookeeper_mt.so");
  return &holdfast::stores::zookeeper::module;
}
