#include "peer/limits.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <new>
#include <string_view>
#include <system_error>

namespace holdfast::support {
namespace {

thread_local long until_failure = 0;
thread_local bool spared = false;
std::atomic<long> until_failure_of_others = 0;
std::atomic<bool> failed = false;

// Allocations of our code, also those made through the standard library; but not what gRPC
// instantiates in our modules and calls there.
bool is_ours(const void* caller) noexcept {
  void* frames[64];
  void** const end = frames + backtrace(frames, std::size(frames));
  Dl_info own{}, at{};
  dladdr(reinterpret_cast<void*>(&is_ours), &own);
  bool ours = false;
  for (void** frame = std::find(frames, end, caller); frame != end; ++frame) {
    if (dladdr(*frame, &at) == 0) continue;
    const std::string_view file = at.dli_fname;
    if (file.find("/libgrpc") != file.npos || file.find("/libprotobuf") != file.npos) return false;
    if (ours || file.find("/libstdc++") != file.npos) continue;
    ours = at.dli_fbase == own.dli_fbase || file.find("/libholdfast") != file.npos;
    if (!ours) return false;
  }
  return ours;
}

bool is_to_fail(const void* caller) noexcept {
  const bool counted = until_failure > 0 || (!spared && until_failure_of_others > 0);
  if (!counted || !is_ours(caller)) return false;
  const long left = until_failure > 0 ? --until_failure : --until_failure_of_others;
  if (left == 0) failed = true;
  return left == 0;
}

void* allocate(std::size_t size, std::size_t alignment, const void* caller) noexcept {
  if (is_to_fail(caller)) return nullptr;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size == 0 ? 1 : size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

}  // namespace

void limit_descriptors(unsigned long count) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = count;
  if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
    throw std::system_error(errno, std::generic_category(), "setrlimit");
}

void use_up_descriptors() {
  int highest = 0;
  for (int next = dup(0); next >= 0 && highest < 100; next = dup(0))
    highest = std::max(highest, next);
  limit_descriptors(static_cast<unsigned long>(highest) + 1);
}

void forbid_threads() {
  sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 1, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog filter{std::size(program), program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
    throw std::system_error(errno, std::generic_category(), "seccomp");
}

void fail_allocation(long nth) {
  failed = false;
  until_failure = nth;
}

void fail_allocation_of_others(long nth) {
  failed = false;
  spared = true;
  until_failure_of_others = nth;
}

bool allocation_failed() { return failed; }

}  // namespace holdfast::support

using holdfast::support::allocate;

void* operator new(std::size_t size) {
  if (void* room = allocate(size, 1, __builtin_return_address(0))) return room;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  if (void* room = allocate(size, static_cast<std::size_t>(alignment), __builtin_return_address(0)))
    return room;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, 1, __builtin_return_address(0));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void operator delete(void* room) noexcept { std::free(room); }
void operator delete(void* room, std::size_t) noexcept { std::free(room); }
void operator delete(void* room, std::align_val_t) noexcept { std::free(room); }
void operator delete(void* room, std::size_t, std::align_val_t) noexcept { std::free(room); }
