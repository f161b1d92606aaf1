#include "stores/etcd/entry.hpp"

namespace holdfast::stores::etcd {

Entry::Entry(const Ask& ask, const Layout& layout)
    : name(ask.name),
      claim(ask.claim),
      prefix(layout.prefix(ask.name)),
      ttl(ask.ttl),
      lock_delay(layout.delays() ? ask.lock_delay : Millis(0)),
      about(ask.about),
      shape{ask.kind, ask.capacity, ask.weight} {}

Standing Entry::standing() const {
  return {.key = key, .claim = claim, .shape = shape, .about = about};
}

}  // namespace holdfast::stores::etcd
