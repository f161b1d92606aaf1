#include "lab/exhibits/verdict.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

namespace holdfast::lab::exhibits {
namespace {

constexpr std::int64_t open = std::numeric_limits<std::int64_t>::max();

// From the grant to the end that the holder itself knows.
struct Stay {
  std::uint64_t op;
  std::int16_t process;
  std::int64_t from;
  std::int64_t to = open;
};

std::vector<Stay> stays_in(const History& history) {
  std::vector<Stay> stays;
  const auto close = [&](const Event& event, auto same) {
    for (Stay& stay : stays)
      if (stay.to == open && same(stay)) stay.to = event.at;
  };
  for (const Event& event : history.events()) {
    if (event.what == What::granted) stays.push_back({event.op, event.process, event.at});
    if (event.what == What::release || event.what == What::lost)
      close(event, [&](const Stay& stay) { return stay.op == event.op; });
    if (event.what == What::crash && event.process != nobody)
      close(event, [&](const Stay& stay) { return stay.process == event.process; });
  }
  const auto end = history.events().empty() ? 0 : history.events().back().at;
  for (Stay& stay : stays) stay.to = std::min(stay.to, end);
  return stays;
}

void find_two_holders(const std::vector<Stay>& stays, std::vector<Finding>& findings) {
  for (std::size_t later = 0; later < stays.size(); ++later)
    for (std::size_t earlier = 0; earlier < later; ++earlier)
      if (stays[later].from < stays[earlier].to && stays[earlier].process != stays[later].process)
        findings.push_back({.kind = Finding::Kind::two_holders,
                            .at = stays[later].from,
                            .until = std::min(stays[earlier].to, stays[later].to),
                            .first = stays[earlier].process,
                            .second = stays[later].process});
}

// A write is old if a write of a later grant was accepted before it.
void find_old_writes(const History& history, const std::vector<Stay>& stays,
                     std::vector<Finding>& findings) {
  const auto rank = [&](std::uint64_t op) {
    return std::ranges::find(stays, op, &Stay::op) - stays.begin();
  };
  const Event* newest = nullptr;
  for (const Event& event : history.events()) {
    if (event.what != What::accepted && event.what != What::rejected) continue;
    const bool old = newest && rank(event.op) < rank(newest->op);
    if (old || event.what == What::rejected)
      findings.push_back(
          {.kind = event.what == What::accepted ? Finding::Kind::old_write : Finding::Kind::refused,
           .at = event.at,
           .first = event.process,
           .second = newest ? newest->process : nobody,
           .token = event.token,
           .newer = newest ? newest->token : 0});
    if (!old && event.what == What::accepted) newest = &event;
  }
}

// A node's last key never expires, its owner is dead, and somebody still asks.
void find_locked(const History& history, std::vector<Finding>& findings) {
  std::map<std::int16_t, Event> keys;    // by node
  std::map<std::int16_t, Event> asking;  // by process
  std::map<std::int16_t, Event> deaths;  // by process
  for (const Event& event : history.events()) switch (event.what) {
      case What::store_granted: keys[event.node] = event; break;
      case What::store_renewed: keys[event.node].until = event.until; break;
      case What::store_ended: keys.erase(event.node); break;
      case What::ask: asking[event.process] = event; break;
      case What::granted: asking.erase(event.process); break;
      case What::crash:
        if (event.process != nobody) deaths[event.process] = event;
        break;
      default: break;
    }
  for (const auto& [dead, death] : deaths) asking.erase(dead);
  if (asking.empty()) return;
  for (const auto& [node, key] : keys)
    if (key.until == 0 && deaths.contains(key.process))
      findings.push_back({.kind = Finding::Kind::locked,
                          .at = std::max(deaths[key.process].at, asking.begin()->second.at),
                          .until = history.events().back().at,
                          .first = key.process,
                          .second = asking.begin()->first});
}

std::uint64_t commands_in(const History& history) {
  std::set<std::int16_t> resources;
  for (const Event& event : history.events())
    if (event.what == What::write) resources.insert(event.node);
  return static_cast<std::uint64_t>(
      std::ranges::count_if(history.events(), [&](const Event& event) {
        return event.what == What::sent && !event.flag && !resources.contains(event.node);
      }));
}

Outcome outcome_of(const std::vector<Finding>& findings) {
  using Kind = Finding::Kind;
  Outcome outcome = Outcome::clean;
  for (const Finding& finding : findings) {
    if (finding.kind == Kind::old_write || finding.kind == Kind::locked) return Outcome::broken;
    if (finding.kind != Kind::two_holders) continue;
    // Harmless if the resource refused a later write of the first of them.
    const bool refused = std::ranges::any_of(findings, [&](const Finding& other) {
      return other.kind == Kind::refused && other.first == finding.first && other.at >= finding.at;
    });
    if (!refused) return Outcome::broken;
    outcome = Outcome::contained;
  }
  return outcome;
}

std::string with_token(const std::string& name, std::uint64_t token) {
  return token == 0 ? name : name + " (" + std::to_string(token) + ")";
}

std::string text_of(const Finding& finding, const draw::Cast& cast) {
  const std::string first = cast.process(finding.first);
  const std::string second = cast.process(finding.second);
  switch (finding.kind) {
    case Finding::Kind::two_holders: return first + " and " + second + " hold it at once";
    case Finding::Kind::old_write:
      return "old write of " + with_token(first, finding.token) + " accepted after that of " +
             with_token(second, finding.newer);
    case Finding::Kind::refused:
      return "old write of " + with_token(first, finding.token) + " refused";
    case Finding::Kind::locked: return first + " is dead and its key has no end: locked for ever";
  }
  return "";
}

}  // namespace

std::string_view to_string(Outcome outcome) noexcept {
  switch (outcome) {
    case Outcome::clean: return "clean";
    case Outcome::contained: return "contained";
    case Outcome::broken: break;
  }
  return "broken";
}

std::string Verdict::text(const draw::Cast& cast) const {
  std::string text;
  for (const Finding& finding : findings) {
    text += (text.empty() ? "" : "; ") + text_of(finding, cast);
    text += (finding.kind == Finding::Kind::two_holders ? " from " : " at ") +
            draw::milliseconds(finding.at) + " ms";
    if (finding.kind == Finding::Kind::two_holders) text += " on";
  }
  if (text.empty()) text = "one after the other";
  return std::string(to_string(outcome)) + ": " + text;
}

std::vector<draw::Mark> Verdict::marks(const draw::Cast& cast) const {
  std::vector<draw::Mark> marks;
  for (const Finding& finding : findings) {
    const bool good = finding.kind == Finding::Kind::refused;
    const auto otherwise = outcome == Outcome::broken ? draw::Tone::bad : draw::Tone::plain;
    marks.push_back(
        {finding.at, finding.until, good ? draw::Tone::good : otherwise, text_of(finding, cast)});
  }
  return marks;
}

Verdict judge(const History& history) {
  Verdict verdict;
  const auto stays = stays_in(history);
  find_two_holders(stays, verdict.findings);
  find_old_writes(history, stays, verdict.findings);
  find_locked(history, verdict.findings);
  std::ranges::stable_sort(verdict.findings, {}, &Finding::at);
  verdict.outcome = outcome_of(verdict.findings);
  verdict.grants = stays.size();
  verdict.commands = commands_in(history);
  return verdict;
}

}  // namespace holdfast::lab::exhibits
