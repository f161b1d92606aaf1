// docs/hazards.md: the exhibition as a page, with a picture of each exhibit.
#include <sys/stat.h>

#include "cli/output.hpp"
#include "cli/text.hpp"
#include "lab/program/program.hpp"

namespace holdfast::lab::program {
namespace {

constexpr std::string_view introduction =
    R"(# How locks break, and what mends them

Every way of locking below is played on virtual time, with the schedule that breaks it, and drawn
from what happened. The last line above each picture is not an opinion: it is computed from the
history. Most readers find a lock of their own here.

`holdfast lab show NAME` plays one of them in a terminal, `--svg FILE` and `--html FILE` write it
down, and `holdfast lab list` names all. This page is made by `./dev hazards`; do not edit it.

How to read a picture: time goes from left to right. A process waits (thin bar), holds the lock
(full bar) or stands still (hatched). Below the processes stand the nodes, each with the name of
whoever has the lock by its own knowledge, and the ledger that the lock is there to protect. A red
band is where two hold the lock at once, or where nobody ever will.

| exhibit | outcome | |
|---|---|---|
)";

constexpr std::string_view conclusion = R"(## What holdfast takes from this

- A lease ends without the help of its holder, and only its owner renews or releases it, in one
  step at the store.
- It is renewed while the work goes on; `lost()` fires before it can be another's, and `valid()`
  is right at the first instruction after any pause.
- A release hands the lock to the next in line and tells that one alone.
- Every lease carries a token that grows with every grant. What must not be damaged has to check
  it: that is the one thing that no lock can do for its user.
)";

std::string anchor_of(std::string_view name) { return "#" + std::string(name); }

std::string quoted(std::string_view lines) { return "```text\n" + std::string(lines) + "\n```\n"; }

std::string section_of(const exhibits::Exhibit& exhibit, const Shown& shown) {
  const std::string name(exhibit.name);
  std::string text = "## " + name + "\n\n**" + std::string(exhibit.title) + ".**\n\n" +
                     quoted(exhibit.algorithm) + "\n" + std::string(exhibit.story) + "\n\n*" +
                     shown.picture.outcome + "*\n\n![" + std::string(exhibit.title) +
                     "](pictures/hazards/" + name + ".svg)\n\n" + std::string(exhibit.lesson);
  if (!exhibit.next.empty())
    text += " Next: [" + std::string(exhibit.next) + "](" + anchor_of(exhibit.next) + ").";
  return text + "\n\n";
}

void make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0) return;
  struct stat there {};
  if (::stat(path.c_str(), &there) == 0 && S_ISDIR(there.st_mode)) return;
  throw cli::Failure{cli::exit_code::cannot_create, "cannot_create",
                     "cannot make the folder '" + cli::escaped(path, 512) +
                         "'; name one whose parent exists and is yours"};
}

}  // namespace

int hazards(Words words) {
  if (words.size() != 2 || words[0] != "--into" || words[1].empty())
    throw bad_usage("the folder is missing; usage: holdfast lab hazards --into FOLDER");
  const std::string folder(words[1]);
  for (const char* const inside : {"", "/pictures", "/pictures/hazards"})
    make_folder(folder + inside);
  const std::string pictures = folder + "/pictures/hazards/";
  std::string table;
  std::string sections;
  for (const auto& exhibit : exhibits::all()) {
    const Shown shown(exhibit);
    const std::string name(exhibit.name);
    std::string path = pictures;
    path.append(name).append(".svg");
    write_file(path, draw::svg(shown.picture));
    table.append("| [" + name + "](" + anchor_of(name) + ") | ")
        .append(to_string(shown.verdict.outcome))
        .append(" | ")
        .append(exhibit.title)
        .append(" |\n");
    sections += section_of(exhibit, shown);
  }
  write_file(folder + "/hazards.md",
             std::string(introduction) + table + "\n" + sections + std::string(conclusion));
  return cli::exit_code::ok;
}

}  // namespace holdfast::lab::program
