#include "stores/sqlite/post.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "stores/sqlite/trouble.hpp"

namespace holdfast::stores::sqlite {
namespace {

// A message is this header, then the name. Only this machine reads it, so numbers keep its byte
// order.
struct Header {
  char magic[4];
  std::uint8_t what;
  std::uint8_t spare;
  std::uint16_t name_size;
  ClaimId claim;
  std::uint64_t number;
  std::int64_t ttl_ms;
  std::int64_t store_us;
};
constexpr char magic[4] = {'h', 'f', 'm', '1'};
constexpr std::size_t longest_name = 4096;
constexpr int at_most_swept = 64;

std::string socket_name(const core::Party& party) {
  char name[48];
  std::snprintf(name, sizeof name, "%llu-%016llx", static_cast<unsigned long long>(party.place),
                static_cast<unsigned long long>(party.nonce));
  return name;
}

std::optional<core::Party> party_of(std::string_view name) {
  const auto dash = name.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  core::Party party;
  const char* const end = name.data() + name.size();
  const auto place = std::from_chars(name.data(), name.data() + dash, party.place);
  const auto nonce = std::from_chars(name.data() + dash + 1, end, party.nonce, 16);
  if (place.ec != std::errc{} || place.ptr != name.data() + dash || nonce.ec != std::errc{} ||
      nonce.ptr != end)
    return std::nullopt;
  return party;
}

// A socket address holds only 108 bytes, so a deep folder is named by its descriptor.
std::string way_to(int folder, const std::string& path) {
  std::string way = "/proc/self/fd/" + std::to_string(folder) + "/";
  return access(way.c_str(), X_OK) == 0 ? way : path + "/";
}

sockaddr_un address_of(const std::string& way, const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = way + name;
  if (path.size() < sizeof address.sun_path) path.copy(address.sun_path, path.size());
  return address;
}

}  // namespace

std::string encode(const Message& message) {
  Header header{};
  std::memcpy(header.magic, magic, sizeof magic);
  header.what = static_cast<std::uint8_t>(message.what);
  header.name_size = static_cast<std::uint16_t>(message.name.size());
  header.claim = message.claim;
  header.number = message.number;
  header.ttl_ms = message.ttl.count();
  header.store_us = message.store_us;
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  return bytes += message.name;
}

std::optional<Message> decode(std::string_view bytes) {
  Header header{};
  if (bytes.size() < sizeof header) return std::nullopt;
  std::memcpy(&header, bytes.data(), sizeof header);
  const std::string_view name = bytes.substr(sizeof header);
  const bool sound = std::memcmp(header.magic, magic, sizeof magic) == 0 &&
                     header.what <= static_cast<std::uint8_t>(core::Notice::What::gone) &&
                     header.name_size == name.size() && !name.empty() && header.ttl_ms >= 0 &&
                     header.number < (std::uint64_t{1} << 53);
  if (!sound) return std::nullopt;
  return Message{static_cast<core::Notice::What>(header.what),
                 header.claim,
                 header.number,
                 Millis(header.ttl_ms),
                 header.store_us,
                 std::string(name)};
}

Post::Post(const Site& site, const Life& life) : own_(socket_name(life.party())) {
  if (site.make_folder("-sock", 0700) != 0 && errno != EEXIST)
    refuse_errno(errno, "cannot_create", "create", site.path() + "-sock");
  folder_ = site.open("-sock", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (!folder_) refuse_errno(errno, "cannot_open", "open", site.path() + "-sock");
  sweep(life.file());
  socket_ = Descriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!socket_) refuse_errno(errno, "no_descriptors", "open a socket for", site.path());
  // How long to wait for a receiver whose queue is full.
  const timeval patience{.tv_sec = 0, .tv_usec = 10'000};
  setsockopt(socket_.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  way_ = way_to(folder_.get(), site.path() + "-sock");
  const sockaddr_un address = address_of(way_, own_);
  const bool fits = address.sun_path[0] != '\0';  // empty: not a path, but an abstract address
  if (!fits ||
      bind(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    socket_ = {};
}

Post::~Post() { retire(); }

void Post::retire() const noexcept {
  if (socket_) unlinkat(folder_.get(), own_.c_str(), 0);
}

void Post::send(const core::Party& to, const Message& message) const noexcept {
  if (!socket_ || to.place == 0) return;
  try {
    const std::string bytes = encode(message);
    const sockaddr_un address = address_of(way_, socket_name(to));
    // An error is ignored: the receiver is dead, or will ask again.
    sendto(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL,
           reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } catch (const std::bad_alloc&) {
  }
}

bool Post::receive(std::optional<Message>& message) const {
  message.reset();
  std::array<char, sizeof(Header) + longest_name> bytes;
  const ssize_t size = recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_TRUNC);
  if (size < 0) return false;
  if (static_cast<std::size_t>(size) <= bytes.size())
    message = decode({bytes.data(), static_cast<std::size_t>(size)});
  return true;
}

// Removes sockets of the dead; a few at each start are enough.
void Post::sweep(const LiveFile& live) const noexcept {
  const int copy = openat(folder_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* const folder = copy < 0 ? nullptr : fdopendir(copy);
  if (!folder) {
    if (copy >= 0) close(copy);
    return;
  }
  for (int seen = 0; seen < at_most_swept; ++seen) {
    const dirent* const entry = readdir(folder);
    if (!entry) break;
    if (const auto party = party_of(entry->d_name); party && live.dead(*party))
      unlinkat(folder_.get(), entry->d_name, 0);
  }
  closedir(folder);
}

}  // namespace holdfast::stores::sqlite
