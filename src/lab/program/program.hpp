// lab/program/program.hpp: the commands of holdfast-lab, which `holdfast lab` runs. A wrong
// argument throws a Failure: one line, and the exit status that `holdfast` itself would give.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "cli/failure.hpp"
#include "lab/draw/draw.hpp"
#include "lab/exhibits/exhibit.hpp"
#include "lab/exhibits/verdict.hpp"

namespace holdfast::lab::program {

using Words = std::span<const std::string_view>;

int list(Words words);
int show(Words words);
int hazards(Words words);
int hashes(Words words);
int check(Words words);
int replay(Words words);

cli::Failure bad_usage(std::string text);
std::uint64_t seed_of(std::string_view word);  // decimal, or hexadecimal with 0x

// An exhibit, played, judged and ready to draw.
struct Shown {
  explicit Shown(const exhibits::Exhibit& exhibit);
  exhibits::Performance performance;
  exhibits::Verdict verdict;
  draw::Picture picture;
};

draw::Style style_of_terminal();
void write_file(const std::string& path, std::string_view text);  // all of it, or throws Failure

}  // namespace holdfast::lab::program
