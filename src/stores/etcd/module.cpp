#include "runtime/forks.hpp"
#include "stores/etcd/store.hpp"

namespace holdfast::stores::etcd {
namespace {

std::unique_ptr<Backend> open_etcd(const Opening& opening, Problem& problem) {
  // gRPC's threads are the parent's, and its one epoll descriptor is shared with it.
  static const std::uint32_t first_used = detail::fork_epoch();
  if (detail::fork_epoch() != first_used) {
    problem = {Errc::unsupported, "after_fork",
               "gRPC cannot be used in a child of a process that has used it: open an etcd store "
               "after fork only, or let the child exec"};
    return nullptr;
  }
  Options options;
  if (!read_options(opening.url, options, problem)) return nullptr;
  return std::make_unique<EtcdStore>(std::move(options), opening.hints);
}

constexpr Module module{
    .version = module_version,
    .schemes = "etcd etcds",
    .open = open_etcd,
};

}  // namespace
}  // namespace holdfast::stores::etcd

extern "C" const holdfast::Module* holdfast_module() { return &holdfast::stores::etcd::module; }
