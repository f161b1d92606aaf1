#include "runtime/modules.hpp"

#include <dlfcn.h>

#include <mutex>
#include <string>
#include <vector>

#include "core/text.hpp"
#include "runtime/forks.hpp"
#include "runtime/system.hpp"
#include "stores/memory/memory.hpp"

namespace holdfast::detail {
namespace {

// Which library has which scheme. A new store gets a line here.
struct Known {
  std::string_view scheme;
  std::string_view library;  // libholdfast-NAME.so.0; empty: built in
};
constexpr Known known[] = {
    {"memory", ""},
    {"sqlite", "sqlite"},
    {"redis", "redis"},
    {"rediss", "redis"},
    {"redis+unix", "redis"},
    {"redis+sentinel", "redis"},
    {"redis+cluster", "redis"},
    {"zookeeper", "zookeeper"},
    {"etcd", "etcd"},
    {"etcds", "etcd"},
};

struct Loaded {
  std::mutex mutex;
  const Module* modules[std::size(known)] = {};
};

std::string folder_of_this_library() {
  Dl_info info{};
  if (!::dladdr(reinterpret_cast<const void*>(&find_module), &info) || !info.dli_fname) return {};
  const std::string path = info.dli_fname;
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? std::string{} : path.substr(0, slash + 1);
}

// RTLD_NODELETE, because threads and exit handlers of a client library still need its code.
void* open_library(const std::string& file, std::string& why) {
  std::vector<std::string> places;
  if (const auto beside = folder_of_this_library(); !beside.empty()) places.push_back(beside);
  if (*HOLDFAST_STORE_DIR) places.push_back(HOLDFAST_STORE_DIR "/");
  places.emplace_back();  // wherever the system looks
  for (const auto& place : places) {
    if (void* library = ::dlopen((place + file).c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE))
      return library;
    const char* text = ::dlerror();
    const bool absent =
        text && std::string_view(text).find("No such file") != std::string_view::npos;
    if (text && (why.empty() || !absent)) why = text;
  }
  return nullptr;
}

// The loader does not say why it could not open a file.
bool descriptor_left() {
  Bell probe;
  return probe.make();
}

const Module* load(const Known& entry, Problem& problem) {
  const std::string store(entry.library);
  const std::string file = "libholdfast-" + store + ".so.0";
  std::string why;
  void* library = open_library(file, why);
  if (!library && !descriptor_left()) {
    problem = {Errc::unavailable, "resource", "too many open files to load the library " + file};
    return nullptr;
  }
  if (!library) {
    problem = {Errc::unsupported, "not_installed",
               "the library of " + store + ": stores is not installed (" + core::escaped(why, 200) +
                   "); install the package libholdfast-" + store +
                   ", or build it where its client library is"};
    return nullptr;
  }
  const auto entry_point =
      reinterpret_cast<const Module* (*)()>(::dlsym(library, "holdfast_module"));
  const Module* module = entry_point ? entry_point() : nullptr;
  if (!module || module->version != module_version) {
    problem = {
        Errc::unsupported, "wrong_version",
        file + " belongs to another version of holdfast; install both from the same release"};
    return nullptr;
  }
  return module;
}

}  // namespace

const Module* find_module(std::string_view scheme, Problem& problem) {
  auto& loaded = per_process<Loaded>();
  std::string schemes;
  for (std::size_t i = 0; i < std::size(known); ++i) {
    schemes += (i ? ", " : "") + std::string(known[i].scheme) + ":";
    if (known[i].scheme != scheme) continue;
    if (known[i].library.empty()) return &stores::memory_module();
    const std::lock_guard guard(loaded.mutex);
    if (!loaded.modules[i]) loaded.modules[i] = load(known[i], problem);
    return loaded.modules[i];
  }
  problem = {Errc::invalid, "unknown_scheme",
             "store URL: the scheme " + core::escaped(scheme, 64) + ": is not known; known are " +
                 schemes};
  return nullptr;
}

std::unique_ptr<Backend> open_backend(const Url& url, Hints& hints, Problem& problem) {
  const Module* module = find_module(url.scheme, problem);
  return module ? module->open({url, hints, &open_backend}, problem) : nullptr;
}

}  // namespace holdfast::detail
