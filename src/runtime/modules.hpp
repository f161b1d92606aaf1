// How a URL finds its store. `memory:` is built in; every other store is a library, loaded at the
// first use of its scheme.
#pragma once

#include <memory>
#include <string_view>

#include "holdfast/backend.hpp"

namespace holdfast::detail {

// The module of a scheme; or null and a problem that says what to do.
const Module* find_module(std::string_view scheme, Problem& problem);

// Opens a backend by its URL. Every store gets this as Opening::other.
std::unique_ptr<Backend> open_backend(const Url& url, Hints& hints, Problem& problem);

}  // namespace holdfast::detail
