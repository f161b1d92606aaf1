// A program that uses one store pays for no other: neither that store's module nor its client
// library is loaded.
#include <fstream>
#include <sstream>

#include "support/peer.hpp"
#include "support/world.hpp"

namespace holdfast {
namespace {

using namespace support;

class Loading : public Conformance {};

std::string libraries_of(const Process& process) {
  std::ostringstream maps;
  maps << std::ifstream("/proc/" + std::to_string(process.pid()) + "/maps").rdbuf();
  return maps.str();
}

TEST_P(Loading, OnlyWhatItsStoreNeeds) {
  Peer peer(world.url());
  const std::string before = libraries_of(peer);
  peer.acquire(name);
  const std::string after = libraries_of(peer);

  struct Library {
    std::string store;
    std::string file;
  };
  std::vector<Library> libraries = {
      {"sqlite", "/libsqlite3.so"}, {"zookeeper", "/libzookeeper_mt.so"}, {"etcd", "/libgrpc"}};
  for (const std::string& store : built_stores())
    if (store != "memory") libraries.push_back({store, "/libholdfast-" + store + ".so"});
  for (const Library& library : libraries) {
    const auto loaded = [&](const std::string& maps) {
      return maps.find(library.file) != std::string::npos;
    };
    EXPECT_FALSE(loaded(before)) << library.file << " was loaded before any store was opened";
    EXPECT_EQ(loaded(after), library.store == GetParam().store) << library.file;
  }
}

HOLDFAST_ON_EVERY_STORE(Loading);

}  // namespace
}  // namespace holdfast
