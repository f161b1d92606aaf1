// lab/draw/messages.hpp: draws messages as arrows, and their texts as labels.
#pragma once

#include <functional>

#include "lab/draw/figure.hpp"

namespace holdfast::lab::draw {

using RowOf = std::function<std::size_t(const Event& event)>;

// The label of a question has its answers too, and stands in the asker's row at the moment of
// asking. The same question to several nodes at once is one label.
void add_messages(const Picture& picture, const RowOf& row_of, Figure& figure);

}  // namespace holdfast::lab::draw
