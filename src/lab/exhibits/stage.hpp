// lab/exhibits/stage.hpp: where an exhibit is played: a world, processes that follow scripts, nodes
// that answer, and the links between them. The world's history records all that happens.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "lab/draw/picture.hpp"
#include "lab/exhibits/script.hpp"
#include "lab/world.hpp"

namespace holdfast::lab::exhibits {

using namespace std::chrono_literals;

inline constexpr Nanos way = 15ms;  // how long a message takes, unless set otherwise

class Actor;
class Node;

class Stage {
 public:
  Stage() : world(1) {}
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;
  ~Stage();

  Actor& actor(std::string name = "");  // without a name: A, B, C …
  template <class Kind, class... Arguments>
  Kind& node(std::string name, Arguments&&... arguments) {
    cast.nodes.push_back(std::move(name));
    auto made =
        std::make_unique<Kind>(*this, number_of(cast.nodes), std::forward<Arguments>(arguments)...);
    auto& kind = *made;
    nodes_.push_back(std::move(made));
    return kind;
  }

  void at(Time when, Action action) { world.at(when, std::move(action)); }
  void tell(const Event& event) { world.tell(event); }
  const char* kept(const std::string& text) { return world.history.keep(text); }
  void cut(const Actor& actor, const Node& node);  // from the start: no message gets through
  bool is_cut(const Actor& actor, const Node& node) const;
  void set_way(const Actor& actor, const Node& node, Nanos delay);
  Nanos way_of(const Actor& actor, const Node& node) const;

  World world;
  draw::Cast cast;
  Time end = 1s;  // of the exhibit
  std::uint64_t calls = 0;

 private:
  using Route = std::pair<std::int16_t, std::int16_t>;
  static std::int16_t number_of(const std::vector<std::string>& names) {
    return static_cast<std::int16_t>(names.size() - 1);
  }

  std::vector<std::unique_ptr<Actor>> actors_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::set<Route> cut_;
  std::vector<std::pair<Route, Nanos>> ways_;
};

// ── nodes, which answer ─────────────────────────────────────────────────────────────────────────

class Node {
 public:
  Node(Stage& on, std::int16_t as) : stage(on), machine(on.world), number(as) {}
  virtual ~Node() = default;
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  void dies(Time when);
  void push(Actor& to, const char* words);  // a message that `to` did not ask for

  Stage& stage;
  Machine machine;
  const std::int16_t number;

 protected:
  void tell(What what, const char* note = "");
};

// ── actors, which ask ───────────────────────────────────────────────────────────────────────────

class Actor {
 public:
  Actor(Stage& on, std::int16_t as) : stage(on), machine(on.world), number(as) {}
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;

  const std::string& name() const { return stage.cast.processes[static_cast<std::size_t>(number)]; }

  // ── what happens to it ──
  void plays(Time from, Script script);
  void pauses(Time from, Time to);
  void dies(Time when);
  void next_message_takes(Nanos delay) { slowed_ = delay; }
  Nanos takes(const Node& node);  // the delay of the message that is sent now

  // ── what it does ──
  void begins(Script script);  // a second script, beside the first
  void asks();
  void enters(std::uint64_t token = 0);
  void leaves();                // its work is done; comes before the release in the store
  void loses(const char* why);  // it learned that it does not hold the lock any more
  bool holds() const noexcept { return holds_; }
  bool wants() const noexcept { return wants_; }  // from its first request to the end of its work
  std::uint64_t op() const noexcept { return op_; }

  // ── how it waits ──
  class Sleep {
   public:
    Sleep(Machine& machine, Nanos span) : machine_(machine), span_(span) {}
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> script) { machine_.after(span_, script); }
    void await_resume() const noexcept {}

   private:
    Machine& machine_;
    Nanos span_;
  };
  Sleep sleep(Nanos span) { return {machine, span}; }

  class Told {
   public:
    explicit Told(Actor& actor) : actor_(actor) {}
    bool await_ready() const noexcept { return actor_.unread_ > 0; }
    void await_suspend(std::coroutine_handle<> script) noexcept { actor_.listener_ = script; }
    void await_resume() const noexcept { actor_.unread_ = 0; }

   private:
    Actor& actor_;
  };
  Told told() { return Told(*this); }  // waits until a node has pushed something to it
  void hears();

  Stage& stage;
  Machine machine;
  const std::int16_t number;

 private:
  void tell(What what, std::uint64_t token = 0, const char* note = "");

  std::vector<Script> scripts_;
  std::optional<Nanos> slowed_;
  std::uint64_t op_ = 0;
  bool wants_ = false;
  bool holds_ = false;
  int unread_ = 0;
  std::coroutine_handle<> listener_;
};

}  // namespace holdfast::lab::exhibits
