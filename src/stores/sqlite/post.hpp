// stores/sqlite/post.hpp: messages between the processes that share a file.
//
// Each open store has a datagram socket in FILE-sock/, named after its party; only processes of the
// same user can enter that folder. A message says what another store's transaction did to a claim.
// A lost message does no harm, because waiters ask again anyway. Anything that is not a valid
// message is ignored.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/admission.hpp"
#include "stores/sqlite/live.hpp"
#include "stores/sqlite/site.hpp"

namespace holdfast::stores::sqlite {

struct Message {
  core::Notice::What what{};
  ClaimId claim{};
  std::uint64_t number = 0;
  Millis ttl{};
  std::int64_t store_us = 0;
  std::string name;
};
std::string encode(const Message& message);
std::optional<Message> decode(std::string_view bytes);

class Post {
 public:
  // Throws Trouble if there is no folder for it. Without /proc, a path too long for a socket
  // address means: no messages.
  Post(const Site& site, const Life& life);
  ~Post();
  Post(const Post&) = delete;
  Post& operator=(const Post&) = delete;

  int descriptor() const noexcept { return socket_.get(); }  // -1: no messages
  // Removes our socket from the folder, so that no more messages come.
  void retire() const noexcept;
  void send(const core::Party& to, const Message& message) const noexcept;
  // False when no more messages are there. An invalid message gives true and nullopt.
  bool receive(std::optional<Message>& message) const;

 private:
  void sweep(const LiveFile& live) const noexcept;

  Descriptor folder_;
  Descriptor socket_;
  std::string way_;  // path of the folder, short enough for an address
  const std::string own_;
};

}  // namespace holdfast::stores::sqlite
