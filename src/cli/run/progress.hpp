// At a terminal, a waiting run shows on stderr whom it waits for. Elsewhere it shows nothing.
#pragma once

#include <memory>
#include <string>

#include "holdfast/store.hpp"

namespace holdfast::cli {

class Progress {
 public:
  Progress(const Store& store, const std::string& name);
  ~Progress();  // clears the line; does not wait for a store that does not answer
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  struct State;
  static void show(State& state);
  std::shared_ptr<State> state_;
};

}  // namespace holdfast::cli
