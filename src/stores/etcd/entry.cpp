#include "stores/etcd/entry.hpp"

namespace holdfast::stores::etcd {

Entry::Entry(const Ask& ask, const Layout& layout)
    : name(ask.name),
      claim(ask.claim),
      prefix(layout.prefix(ask.name)),
      kind(ask.kind),
      capacity(ask.capacity),
      ttl(ask.ttl),
      lock_delay(layout.delays() ? ask.lock_delay : Millis(0)),
      about(ask.about),
      key(layout.key(prefix, ask.claim, 0)),
      weight(ask.weight) {}

Standing Entry::standing() const {
  return {.key = key, .kind = kind, .capacity = capacity, .weight = weight, .about = about};
}

}  // namespace holdfast::stores::etcd
