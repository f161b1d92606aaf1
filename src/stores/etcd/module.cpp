#include <sys/eventfd.h>

#include <array>

#include "runtime/forks.hpp"
#include "stores/common/closed_on_exec.hpp"
#include "stores/common/descriptor.hpp"
#include "stores/etcd/store.hpp"

namespace holdfast::stores::etcd {
namespace {

// gRPC ends the process if it cannot open the descriptors that it starts with: fewer than these.
bool descriptors_are_left() noexcept {
  std::array<Descriptor, 8> tried;
  for (Descriptor& each : tried) {
    each = Descriptor(eventfd(0, EFD_CLOEXEC));
    if (!each) return false;
  }
  return true;
}

std::unique_ptr<Backend> open_etcd(const Opening& opening, Problem& problem) {
  // After a fork, gRPC's threads are in the parent only, and both share its one epoll descriptor.
  static const std::uint32_t first_used = detail::fork_epoch();
  if (detail::fork_epoch() != first_used) {
    problem = {Errc::unsupported, "after_fork",
               "gRPC cannot be used in a child of a process that has used it: open an etcd store "
               "after fork only, or let the child exec"};
    return nullptr;
  }
  Options options;
  if (!read_options(opening.url, options, problem)) return nullptr;
  if (!descriptors_are_left()) {
    problem = {Errc::unavailable, "resource",
               "too many open files for gRPC (EMFILE): raise `ulimit -n` or close some"};
    return nullptr;
  }
  return std::make_unique<EtcdStore>(std::move(options), opening.hints);
}

constexpr Module module{
    .version = module_version,
    .schemes = "etcd etcds",
    .open = open_etcd,
};

}  // namespace
}  // namespace holdfast::stores::etcd

extern "C" const holdfast::Module* holdfast_module() {
  for (const auto* library : {"libgrpc.so", "libcares.so", "libaddress_sorting.so"})
    holdfast::stores::open_closed_on_exec(library);
  return &holdfast::stores::etcd::module;
}
