// tests/stores/redis_talk.hpp: our requests to a real server and its replies, with nothing in
// between: no store, no retries. For tests of the scripts.
#pragma once

#include <sys/socket.h>

#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "stores/redis/keys.hpp"
#include "stores/redis/reply.hpp"
#include "stores/redis/request.hpp"
#include "stores/redis/scripts.hpp"
#include "stores/redis/trouble.hpp"
#include "stores/redis/wording.hpp"
#include "support/redis/server.hpp"
#include "support/sockets.hpp"

namespace holdfast::stores::redis {

class Talk {
 public:
  explicit Talk(int port) : socket_(support::connect_to(port)) {}

  // Sends what a write_… function wrote; one reply, valid until the next.
  const Reply& ask(std::string_view request) {
    while (!request.empty()) {
      const auto sent = ::send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL);
      if (sent <= 0) throw std::runtime_error("the server hung up");
      request.remove_prefix(static_cast<std::size_t>(sent));
    }
    return next();
  }
  const Reply& next() {
    for (;;) {
      const auto step = reader_.next(reply_);
      if (step == Reader::Step::reply) return reply_;
      if (step == Reader::Step::broken) throw std::runtime_error(reader_.why());
      const auto room = reader_.room();
      const auto came = ::recv(socket_.get(), room.data(), room.size(), 0);
      if (came <= 0) throw std::runtime_error("the server hung up");
      reader_.filled(static_cast<std::size_t>(came));
    }
  }
  const Reply& command(std::initializer_list<std::string_view> words) {
    std::string request;
    Request written(request, words.size());
    for (const auto word : words) written << word;
    return ask(request);
  }

 private:
  support::Descriptor socket_;
  Reader reader_;
  Reply reply_;
};

// One process as the scripts see it: it asks, and listens on a channel of its own.
class Party {
 public:
  Party(int port, std::string channel, Setting setting = {})
      : talk_(port), ear_(port), setting_(std::move(setting)) {
    setting_.channel = std::move(channel);
    ear_.command({"SUBSCRIBE", setting_.channel});
    for (const Script* script : all_scripts())
      if (talk_.command({"SCRIPT", "LOAD", script->text}).text != script->sha)
        throw std::runtime_error("no script: " + std::string(script->name));
  }

  Answer ask(const Ask& ask) {
    std::string out;
    write_ask(out, ask, setting_, run_id, ask.queue, false);
    const Reply& reply = talk_.ask(out);
    return reply.is_error() ? refused(reply) : read_ask(reply, ask.name);
  }
  std::vector<Answer> renew(const std::vector<Keep>& keeps) {
    std::string out;
    write_renew(out, keeps, setting_, run_id, false);
    return batch(out, keeps.size(), read_renew);
  }
  Answer renew(const Keep& keep) { return renew(std::vector{keep}).at(0); }
  std::vector<Answer> release(const std::vector<Drop>& drops) {
    std::string out;
    write_release(out, drops, setting_, run_id, false);
    return batch(out, drops.size(), read_release);
  }
  Answer release(const Drop& drop) { return release(std::vector{drop}).at(0); }
  Answer revoke(std::string_view name, bool now) {
    std::string out;
    write_revoke(out, name, now, setting_, run_id, false);
    const Reply& reply = talk_.ask(out);
    return reply.is_error() ? refused(reply) : read_revoke(reply);
  }
  std::vector<Holder> describe(std::string_view name) {
    std::string out;
    write_describe(out, name, setting_, false);
    std::vector<Holder> holders;
    if (!read_describe(talk_.ask(out), name, holders)) throw std::runtime_error("not ours");
    return holders;
  }
  Mark mark(Marking marking) {
    std::string out;
    write_mark(out, marker_key(), setting_, run_id, marking, false);
    Mark mark;
    if (!read_mark(talk_.ask(out), mark)) throw std::runtime_error("not ours");
    return mark;
  }
  Cell add(const Add& add) {
    return cell([&](std::string& out) { write_add(out, add, false); });
  }
  Cell swap(const Swap& swap) {
    return cell([&](std::string& out) { write_swap(out, swap, false); });
  }
  Cell get(std::string_view name) {
    return cell([&](std::string& out) { write_get(out, name, false); });
  }

  // All messages so far: the answer to a PING comes behind them.
  std::vector<Message> messages() {
    std::vector<Message> all;
    for (const Reply* reply = &ear_.command({"PING"}); (*reply)[0].text != "pong";
         reply = &ear_.next()) {
      if (!read_message((*reply)[2].text, all.emplace_back())) throw std::runtime_error("not ours");
    }
    return all;
  }

  Talk& talk() noexcept { return talk_; }
  Setting& setting() noexcept { return setting_; }
  std::string run_id = "0123456789abcdef";

 private:
  static Answer refused(const Reply& error) {
    Answer answer;
    answer.said = Said::no;
    answer.problem = problem_of(error);
    return answer;
  }
  template <class Read>
  std::vector<Answer> batch(const std::string& out, std::size_t count, Read&& read) {
    const Reply& reply = talk_.ask(out);
    std::vector<Answer> answers(count, reply.is_error() ? refused(reply) : Answer{});
    if (!reply.is_error()) read(reply, answers);
    return answers;
  }
  template <class Write>
  Cell cell(Write&& write) {
    std::string out;
    write(out);
    const Reply& reply = talk_.ask(out);
    if (!reply.is_error()) return read_cell(reply);
    Cell cell;
    cell.said = Said::no;
    cell.problem = problem_of(reply);
    return cell;
  }

  Talk talk_;
  Talk ear_;
  Setting setting_;
};

}  // namespace holdfast::stores::redis
