// list and show: the exhibition.
#include <algorithm>

#include "cli/output.hpp"
#include "cli/text.hpp"
#include "lab/draw/text.hpp"
#include "lab/program/program.hpp"

namespace holdfast::lab::program {
namespace {

constexpr std::string_view usage = "usage: holdfast lab show NAME [--svg FILE | --html FILE]";

struct Wish {
  std::string_view name;
  std::string_view form;  // "", "--svg" or "--html"
  std::string path;
};

Wish parse(Words words) {
  Wish wish;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto word = words[i];
    if (word == "--svg" || word == "--html") {
      if (!wish.form.empty())
        throw bad_usage(wish.form == word ? std::string(word) + " stands there twice; write it once"
                                          : "--svg and --html exclude each other; write one of "
                                            "them");
      if (i + 1 == words.size() || words[i + 1].empty())
        throw bad_usage(std::string(word) + " needs a file; write " + std::string(word) + " FILE");
      wish.form = word;
      wish.path = words[++i];
    } else if (word.starts_with('-')) {
      throw bad_usage("unknown option '" + cli::escaped(word, 64) + "'; " + std::string(usage));
    } else if (!wish.name.empty()) {
      throw bad_usage("'" + cli::escaped(word, 64) + "' is one word too many; " +
                      std::string(usage));
    } else {
      wish.name = word;
    }
  }
  if (wish.name.empty())
    throw bad_usage("the name is missing; " + std::string(usage) + "; holdfast lab list has them");
  return wish;
}

const exhibits::Exhibit& exhibit_of(std::string_view name) {
  if (const auto* found = exhibits::find(name)) return *found;
  std::string names;
  for (const auto& exhibit : exhibits::all())
    names.append(names.empty() ? "" : ", ").append(exhibit.name);
  throw bad_usage("there is no exhibit '" + cli::escaped(name, 64) + "'; there are " + names);
}

std::string indented(std::string_view lines) {
  std::string out = "    ";
  for (const char c : lines) out.append(c == '\n' ? "\n    " : std::string(1, c));
  return out + "\n";
}

std::string next_of(const exhibits::Exhibit& exhibit) {
  return exhibit.next.empty() ? "" : "next: holdfast lab show " + std::string(exhibit.next) + "\n";
}

}  // namespace

int list(Words words) {
  if (!words.empty())
    throw bad_usage("'" + cli::escaped(words[0], 64) +
                    "' is one word too many; usage: holdfast lab list");
  std::size_t widest = 0;
  for (const auto& exhibit : exhibits::all()) widest = std::max(widest, exhibit.name.size());
  for (const auto& exhibit : exhibits::all()) {
    const auto verdict = exhibits::judge(exhibits::perform(exhibit).history);
    std::string line(exhibit.name);
    line.append(widest + 2 - line.size(), ' ').append(to_string(verdict.outcome));
    line.append(widest + 13 - line.size(), ' ').append(exhibit.title).append("\n");
    cli::print(line);
  }
  return cli::exit_code::ok;
}

int show(Words words) {
  const Wish wish = parse(words);
  const auto& exhibit = exhibit_of(wish.name);
  const Shown shown(exhibit);
  if (wish.form == "--svg") {
    write_file(wish.path, draw::svg(shown.picture));
  } else if (wish.form == "--html") {
    write_file(wish.path, draw::html(shown.picture,
                                     {std::string(exhibit.algorithm), std::string(exhibit.story),
                                      std::string(exhibit.lesson)}));
  } else {
    const auto style = style_of_terminal();
    cli::print(draw::timeline(shown.picture, style) + "\n" + indented(exhibit.algorithm) + "\n" +
               draw::wrapped(exhibit.story, style.width) + "\n" +
               draw::wrapped(exhibit.lesson, style.width) + next_of(exhibit));
  }
  return cli::exit_code::ok;
}

}  // namespace holdfast::lab::program
