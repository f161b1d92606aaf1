#include "lab/draw/draw.hpp"
#include "lab/draw/markup.hpp"

namespace holdfast::lab::draw {
namespace {

constexpr std::string_view page_style = R"(<style>
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 1040px; margin: 2em auto; padding: 0 1em }
svg { max-width: 100%; height: auto; border: 1px solid #8884; border-radius: 6px }
pre { padding: .8em 1em; border: 1px solid #8884; border-radius: 6px; overflow-x: auto }
table { border-collapse: collapse; font-size: 14px; width: 100% }
th, td { text-align: left; padding: .2em .8em .2em 0; border-bottom: 1px solid #8884 }
td:first-child, th:first-child { text-align: right; font-variant-numeric: tabular-nums }
</style>
)";

std::string row_of(const Event& event, const Cast& cast) {
  const auto cell = [](std::string_view text) { return "<td>" + escaped(text) + "</td>"; };
  return "<tr>" + cell(milliseconds(event.at)) +
         cell(event.process == nobody ? "" : cast.process(event.process)) +
         cell(event.node == nobody ? "" : cast.node(event.node)) +
         cell(std::string(to_string(event.what)) +
              (event.what == What::sent || event.what == What::arrived
                   ? (event.flag ? " (answer)" : " (question)")
                   : "")) +
         cell(event.token == 0 ? "" : std::to_string(event.token)) + cell(event.note) + "</tr>\n";
}

}  // namespace

std::string html(const Picture& picture, const std::vector<std::string>& explanation) {
  std::string out =
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width\">\n<title>" +
      escaped(picture.title) + "</title>\n" + std::string(page_style) + "</head>\n<body>\n<h1>" +
      escaped(picture.title) + "</h1>\n<p><strong>" + escaped(picture.outcome) + "</strong></p>\n";
  for (const std::string& paragraph : explanation)
    out += paragraph.find('\n') == paragraph.npos ? "<p>" + escaped(paragraph) + "</p>\n"
                                                  : "<pre>" + escaped(paragraph) + "</pre>\n";
  out += svg(picture) +
         "<h2>Every event</h2>\n<table>\n<tr><th>ms</th><th>process</th><th>node</th>"
         "<th>what</th><th>token</th><th>note</th></tr>\n";
  for (const Event& event : picture.history.events()) out += row_of(event, picture.cast);
  return out + "</table>\n</body>\n</html>\n";
}

}  // namespace holdfast::lab::draw
