// What an outside project writes: one include, one library, and a store that it does not link.
#include <holdfast/holdfast.hpp>

#include <iostream>
#include <string>

int main(int, char** arguments) {
  const auto store = holdfast::open("sqlite:" + std::string(arguments[1])).value();
  const auto lease = store.lock("packaging").try_acquire().value();
  std::cout << "token " << lease.token().value << '\n';
}
