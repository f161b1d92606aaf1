#include "support/proxy.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <future>
#include <list>
#include <mutex>
#include <optional>
#include <vector>

namespace holdfast::support {
namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t most_kept = 1 << 20;  // each way; beyond it the sender has to wait

struct Piece {
  Clock::time_point due;
  std::string bytes;
};

// One way of one connection.
struct Lane {
  Descriptor* from = nullptr;
  Descriptor* to = nullptr;
  std::deque<Piece> pieces{};
  std::size_t kept = 0;
  bool ended = false;                      // the sender has finished
  bool closed = false;                     // and we told the receiver
  std::optional<std::size_t> until_cut{};  // bytes left until a cut
};

struct Connection {
  Descriptor client;
  Descriptor server;
  std::array<Lane, 2> lanes{Lane{&client, &server}, Lane{&server, &client}};  // by Way
  std::string opening{};  // the first piece of requests
  bool held = false;      // it sent what hold_from() waits for
  bool dead = false;
};

struct Cut {
  Way way;
  std::size_t bytes;
  std::string text;
  int nth;
};

// Everything that heal() undoes.
struct Weather {
  std::array<bool, 2> held{};              // by Way
  std::optional<std::string> held_text{};  // in an opening: holds its connection both ways
  std::optional<std::string> held_from{};  // in any request: likewise, from then on
  Millis delay{0};
  bool trickle = false;
  bool refuses = false;
  std::optional<Cut> cut{};
};

}  // namespace

// Runs on the proxy's thread, except for enter(), which brings changes in.
class Proxy::Traffic {
 public:
  Traffic(const Listener& listener, int server_port, Millis patience)
      : listener_(listener), server_port_(server_port), patience_(patience) {}

  void run(const std::stop_token& stop) {
    while (!stop.stop_requested()) turn();
  }
  void enter(std::function<void()> change) {
    {
      const std::lock_guard guard(mutex_);
      changes_.push_back(std::move(change));
    }
    eventfd_write(bell_.get(), 1);
  }
  void refuse() {
    listener_.refuse();
    weather.refuses = true;
  }
  void heal() {
    if (weather.refuses) listener_.welcome();
    weather = {};
    for (auto& connection : connections_) {
      connection.held = false;
      for (auto& lane : connection.lanes) lane.until_cut.reset();
    }
  }
  void reset_all() {
    for (auto& connection : connections_) connection.dead = true;
    bury();
  }

  Weather weather;
  Counts counts;
  std::pair<std::string, std::string> rewriting;  // the first text becomes the second

 private:
  void turn() {
    const auto now = Clock::now();
    const int door = weather.refuses ? -1 : listener_.descriptor();
    std::vector<pollfd> polled = {{bell_.get(), POLLIN, 0}, {door, POLLIN, 0}};
    for (auto& connection : connections_) {
      for (auto* end : {&connection.client, &connection.server}) {
        const auto events = wanted(connection, *end, now);
        polled.push_back({events != 0 ? end->get() : -1, events, 0});  // Else poll reports hangups.
      }
    }
    poll(polled.data(), polled.size(), until_next(now));

    auto at = polled.begin() + 2;
    for (auto& connection : connections_)
      for (std::size_t end = 0; end < 2; ++end, ++at)
        if ((at->revents & (POLLIN | POLLERR | POLLHUP)) != 0) receive(connection, end);
    for (auto& connection : connections_)
      for (std::size_t way = 0; way < 2; ++way) pass_on(connection, way);
    bury();
    if ((polled[1].revents & POLLIN) != 0) accept();
    if ((polled[0].revents & POLLIN) != 0) let_in();
  }

  bool is_held(const Connection& connection, std::size_t way) const {
    const auto& text = weather.held_text;
    return weather.held[way] || connection.held ||
           (text && connection.opening.find(*text) != std::string::npos);
  }

  bool may_pass(const Connection& connection, std::size_t way, Clock::time_point now) const {
    const auto& pieces = connection.lanes[way].pieces;
    return !is_held(connection, way) && !pieces.empty() && pieces.front().due <= now;
  }

  short wanted(const Connection& connection, const Descriptor& end, Clock::time_point now) const {
    short events = 0;
    for (std::size_t way = 0; way < 2; ++way) {
      const auto& lane = connection.lanes[way];
      if (lane.from == &end && !lane.ended && lane.kept < most_kept) events |= POLLIN;
      if (lane.to == &end && may_pass(connection, way, now)) events |= POLLOUT;
    }
    return events;
  }

  int until_next(Clock::time_point now) const {
    auto next = Clock::time_point::max();
    for (const auto& connection : connections_)
      for (std::size_t way = 0; way < 2; ++way)
        if (const auto& lane = connection.lanes[way];
            !lane.pieces.empty() && !is_held(connection, way))
          next = std::min(next, lane.pieces.front().due);
    if (next == Clock::time_point::max()) return -1;
    const auto left = std::chrono::ceil<Millis>(next - now);
    // Bytes that are due wait only for room in the socket, which poll reports.
    return left.count() > 0 ? static_cast<int>(left.count()) : -1;
  }

  void accept() {
    auto client = listener_.accept();
    if (!client) return;
    ++counts.connections;
    auto server = reach_server();
    if (!server) return support::reset(client);
    auto& connection = connections_.emplace_back();
    connection.client = std::move(client);
    connection.server = std::move(server);
  }

  Descriptor reach_server() const {
    Descriptor server;
    const auto reached = [&] {
      try {
        server = connect_to(server_port_);
        return true;
      } catch (const std::exception&) {
        return false;
      }
    };
    eventually(reached, patience_);
    return server;
  }

  void receive(Connection& connection, std::size_t way) {
    auto& lane = connection.lanes[way];
    if (connection.dead || lane.ended || lane.kept >= most_kept) return;
    char bytes[16384];
    const auto count = recv(lane.from->get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) {
      lane.ended = true;
      connection.dead = count < 0 && !is_held(connection, way);  // The end is held, too.
    } else {
      std::string piece(bytes, static_cast<std::size_t>(count));
      if (static_cast<Way>(way) == Way::requests) {
        if (connection.opening.empty()) connection.opening = piece = rewritten(piece);
        const auto& text = weather.held_from;
        connection.held |= text && piece.find(*text) != std::string::npos;
        look_for_cut(connection, piece);
      }
      lane.pieces.push_back({Clock::now() + weather.delay, piece});
      lane.kept += piece.size();
    }
  }

  std::string rewritten(std::string piece) const {
    const auto at = piece.find(rewriting.first);
    if (at != std::string::npos) piece.replace(at, rewriting.first.size(), rewriting.second);
    return piece;
  }

  void look_for_cut(Connection& connection, const std::string& piece) {
    auto& cut = weather.cut;
    if (!cut || piece.find(cut->text) == std::string::npos || --cut->nth > 0) return;
    auto& lane = connection.lanes[static_cast<std::size_t>(cut->way)];
    lane.until_cut = cut->bytes + (cut->way == Way::requests ? lane.kept : 0);
    cut.reset();
  }

  void pass_on(Connection& connection, std::size_t way) {
    auto& lane = connection.lanes[way];
    auto& count =
        static_cast<Way>(way) == Way::requests ? counts.request_bytes : counts.reply_bytes;
    const auto now = Clock::now();
    while (!connection.dead && may_pass(connection, way, now)) {
      auto& bytes = lane.pieces.front().bytes;
      auto size = std::min(bytes.size(), weather.trickle ? 1 : most_kept);
      if (lane.until_cut) size = std::min(size, *lane.until_cut);
      const auto sent = send(lane.to->get(), bytes.data(), size, MSG_DONTWAIT | MSG_NOSIGNAL);
      if (sent < 0 && errno == EAGAIN) return;
      if (sent < 0) connection.dead = true;
      const auto passed = static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
      count += static_cast<long>(passed);
      lane.kept -= passed;
      bytes.erase(0, passed);
      if (bytes.empty()) lane.pieces.pop_front();
      if (lane.until_cut && (*lane.until_cut -= passed) == 0) {
        connection.dead = true;
        ++counts.cuts;
      }
      if (weather.trickle) return;
    }
    if (!lane.ended || !lane.pieces.empty() || is_held(connection, way) || lane.closed) return;
    shutdown(lane.to->get(), SHUT_WR);  // The other way may still carry data.
    lane.closed = true;
    if (connection.lanes[1 - way].closed) connection.dead = true;
  }

  void bury() {
    for (auto& connection : connections_) {
      if (!connection.dead) continue;
      support::reset(connection.client);
      support::reset(connection.server);
    }
    connections_.remove_if([](const Connection& each) { return each.dead; });
    counts.open = static_cast<long>(connections_.size());
  }

  void let_in() {
    eventfd_t ignored = 0;
    eventfd_read(bell_.get(), &ignored);
    std::vector<std::function<void()>> changes;
    {
      const std::lock_guard guard(mutex_);
      changes.swap(changes_);
    }
    for (const auto& change : changes) change();
  }

  const Listener& listener_;
  const int server_port_;
  const Millis patience_;
  std::list<Connection> connections_;  // a list, because lanes point into its elements

  Descriptor bell_{eventfd(0, EFD_CLOEXEC)};
  std::mutex mutex_;
  std::vector<std::function<void()>> changes_;
};

Proxy::Proxy(int server_port, Millis patience)
    : traffic_(std::make_unique<Traffic>(listener_, server_port, patience)),
      thread_([this](const std::stop_token& stop) { traffic_->run(stop); }) {}

Proxy::~Proxy() {
  thread_.request_stop();
  traffic_->enter([] {});
}

void Proxy::inside(const std::function<void()>& change) {
  std::promise<void> done;
  traffic_->enter([&] {
    change();
    done.set_value();
  });
  done.get_future().wait();
}

void Proxy::hold(Way way) {
  inside([&] { traffic_->weather.held[static_cast<std::size_t>(way)] = true; });
}

void Proxy::hold() {
  inside([&] { traffic_->weather.held = {true, true}; });
}

void Proxy::hold_those(const std::string& text) {
  inside([&] { traffic_->weather.held_text = text; });
}

void Proxy::hold_from(const std::string& text) {
  inside([&] { traffic_->weather.held_from = text; });
}

void Proxy::release(Way way) {
  inside([&] { traffic_->weather.held[static_cast<std::size_t>(way)] = false; });
}

void Proxy::delay(Millis each) {
  inside([&] { traffic_->weather.delay = each; });
}

void Proxy::trickle() {
  inside([&] { traffic_->weather.trickle = true; });
}

void Proxy::refuse() {
  inside([&] { traffic_->refuse(); });
}

void Proxy::cut(Way way, std::size_t bytes, const std::string& text, int nth) {
  inside([&] { traffic_->weather.cut = Cut{way, bytes, text, nth}; });
}

void Proxy::rewrite(const std::string& text, const std::string& other) {
  inside([&] { traffic_->rewriting = {text, other}; });
}

void Proxy::heal() {
  inside([&] { traffic_->heal(); });
}

void Proxy::reset() {
  inside([&] { traffic_->reset_all(); });
}

Proxy::Counts Proxy::counts() {
  Counts counts;
  inside([&] { counts = traffic_->counts; });
  return counts;
}

}  // namespace holdfast::support
