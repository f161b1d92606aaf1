// stores/sqlite/post.hpp: messages between the processes of one file.
//
// Each open store has a datagram socket in FILE-sock/, named after its party; only processes of the
// same user get into that folder. A message says what another's transaction did to a claim. It may
// get lost: who waits asks again anyway. What cannot be read as a message is ignored.
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
  // Throws Trouble if there is no folder for it. Without /proc, and deep down, there are no
  // messages.
  Post(const Site& site, const Life& life);
  ~Post();
  Post(const Post&) = delete;
  Post& operator=(const Post&) = delete;

  int descriptor() const noexcept { return socket_.get(); }  // -1: no messages
  // Removes our name from the folder, so that no message comes any more.
  void retire() const noexcept;
  void send(const core::Party& to, const Message& message) const noexcept;
  // False when nothing more is there; a message that made no sense gives true and nothing.
  bool receive(std::optional<Message>& message) const;

 private:
  void sweep(const LiveFile& live) const noexcept;

  Descriptor folder_;
  Descriptor socket_;
  std::string way_;  // to the folder, as an address begins
  const std::string own_;
};

}  // namespace holdfast::stores::sqlite
