// How a connection begins: what we send, and what the server says about itself.
#include <charconv>

#include "stores/redis/link.hpp"
#include "stores/redis/request.hpp"
#include "stores/redis/scripts.hpp"
#include "stores/redis/trouble.hpp"

namespace holdfast::stores::redis {

void Server::read(std::string_view info) {
  const auto field = [&](std::string_view name) {
    const auto at = info.find(name);
    if (at == info.npos) return std::string_view();
    const auto value = info.substr(at + name.size());
    return value.substr(0, value.find_first_of("\r\n"));
  };
  if (const auto id = field("run_id:"); !id.empty()) run_id = id;
  if (const auto text = field("redis_version:"); !text.empty()) version = text;
  if (const auto role = field("role:"); !role.empty()) replica = role == "slave";
  if (const auto count = field("connected_slaves:"); !count.empty())
    std::from_chars(count.data(), count.data() + count.size(), replicas);
}

// Sends everything that makes a connection ready at once: one round trip.
void Link::greet() {
  state_ = State::greeting;
  const auto say = [&](Greeting what, std::initializer_list<std::string_view> words) {
    Request request(out_, words.size());
    for (const auto word : words) request << word;
    greetings_.push_back(what);
  };
  const Login& login = use_ == Use::sentinel ? options_.sentinel_login : options_.login;
  if (!login.user.empty()) {
    say(Greeting::auth, {"AUTH", login.user, login.password});
  } else if (!login.password.empty()) {
    say(Greeting::auth, {"AUTH", login.password});
  }
  if (use_ != Use::spare) say(Greeting::name, {"CLIENT", "SETNAME", options_.client_name});
  if (use_ == Use::commands || use_ == Use::acknowledged) {
    if (options_.database != 0)
      say(Greeting::select, {"SELECT", std::to_string(options_.database)});
    for (const Script* script : all_scripts())
      say(Greeting::script, {"SCRIPT", "LOAD", script->text});
    say(Greeting::info, {"INFO", "server"});
    say(Greeting::info, {"INFO", "replication"});
  } else if (use_ == Use::spare) {  // in a hurry: no scripts, because the server has them
    if (options_.database != 0)
      say(Greeting::select, {"SELECT", std::to_string(options_.database)});
    if (options_.setting.guard) say(Greeting::info, {"INFO", "server"});
    if (greetings_.empty()) be_ready();
  }
}

void Link::greeted(const Reply& reply) {
  const Greeting what = greetings_.front();
  greetings_.pop_front();
  if (reply.is_error()) {
    // A user may lack the right to these two; the connection works without them.
    const bool needed = what != Greeting::name && what != Greeting::script;
    Problem problem = what == Greeting::auth ? login_problem_of(reply) : problem_of(reply);
    if (needed || problem.errc != Errc::denied || problem.reason == "authentication")
      return close(problem);
  } else if (what == Greeting::info) {
    server_.read(reply.text);
  }
  if (greetings_.empty()) be_ready();
}

void Link::be_ready() {
  state_ = State::ready;
  phase_until_ = BootTime::max();
  failures_ = 0;
  if (use_ == Use::spare) {  // nothing waits for the reply
    Request(out_, 3) << "CLIENT"
                     << "SETNAME" << options_.client_name;
    sent_.emplace_back();
  }
  for (; !waiting_.empty(); waiting_.pop_front())
    if (waiting_.front()) send_off(std::move(waiting_.front()), heard_at_);
  listener_.opened(*this);
}

}  // namespace holdfast::stores::redis
