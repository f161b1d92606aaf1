// lab/draw/messages.hpp: what went over the wire, as arrows, and what was said, as labels.
#pragma once

#include <functional>

#include "lab/draw/figure.hpp"

namespace holdfast::lab::draw {

using RowOf = std::function<std::size_t(const Event& event)>;

// A question is told with its answers, at the moment and in the row of who asked. The same question
// to several nodes at once is one label.
void add_messages(const Picture& picture, const RowOf& row_of, Figure& figure);

}  // namespace holdfast::lab::draw
