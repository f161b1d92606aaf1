// The bare clients that holdfast is measured against: hiredis and nothing around it.
#pragma once

#include <hiredis.h>

#include <array>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace bench::redis {

class Bare {
 public:
  struct Free {
    void operator()(redisContext* context) const { redisFree(context); }
    void operator()(redisReply* reply) const { freeReplyObject(reply); }
  };
  using Reply = std::unique_ptr<redisReply, Free>;
  using Words = std::initializer_list<std::string_view>;

  explicit Bare(int port) : context_(redisConnect("127.0.0.1", port)) { expect(context_.get()); }

  Reply command(Words words) {
    append(words);
    return next();
  }

  // For a pipeline: append() any number, then call next() as often.
  void append(Words words) {
    std::array<const char*, 8> bytes;
    std::array<std::size_t, 8> sizes;
    std::size_t count = 0;
    for (const std::string_view word : words) {
      bytes.at(count) = word.data();
      sizes.at(count++) = word.size();
    }
    expect(redisAppendCommandArgv(context_.get(), static_cast<int>(count), bytes.data(),
                                  sizes.data()) == REDIS_OK);
  }
  Reply next() {
    void* reply = nullptr;
    expect(redisGetReply(context_.get(), &reply) == REDIS_OK);
    return checked(reply);
  }
  // Null if nothing more has been read; next() then writes and reads.
  Reply arrived() {
    void* reply = nullptr;
    expect(redisGetReplyFromReader(context_.get(), &reply) == REDIS_OK);
    return reply ? checked(reply) : nullptr;
  }

  std::string load(std::string_view script) { return command({"SCRIPT", "LOAD", script})->str; }

 private:
  void expect(bool good) const {
    if (!good || context_->err)
      throw std::runtime_error(context_ ? context_->errstr : "no memory for a connection");
  }
  static Reply checked(void* raw) {
    Reply reply(static_cast<redisReply*>(raw));
    if (reply->type == REDIS_REPLY_ERROR) throw std::runtime_error(reply->str);
    return reply;
  }

  std::unique_ptr<redisContext, Free> context_;
};

// The least that may be called a lock: it has an owner and expires, and only its owner gives it
// back. Two EVALSHA per pair.
class BareScripts {
 public:
  explicit BareScripts(Bare& bare)
      : bare_(bare),
        acquire_(bare.load("return redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])")),
        release_(bare.load("if redis.call('GET', KEYS[1]) == ARGV[1] then "
                           "return redis.call('DEL', KEYS[1]) else return 0 end")) {}

  void ask(std::string_view key) {
    bare_.append({"EVALSHA", acquire_, "1", key, "sixteen bytes id", "30000"});
  }
  void drop(std::string_view key) {
    bare_.append({"EVALSHA", release_, "1", key, "sixteen bytes id"});
  }
  // A refusal costs less than a grant and would spoil the figure.
  static void expect_granted(const Bare::Reply& reply) {
    if (reply->type != REDIS_REPLY_STATUS) throw std::runtime_error("a bare lock was not granted");
  }
  static void expect_dropped(const Bare::Reply& reply) {
    if (reply->integer != 1) throw std::runtime_error("a bare lock was not released");
  }

 private:
  Bare& bare_;
  std::string acquire_;
  std::string release_;
};

// A lock made of one token in a list: the least that a handover by the server can cost. It has no
// owner and never expires.
class BareToken {
 public:
  explicit BareToken(int port) : bare_(port) {}
  static void lay_out(int port) {
    Bare bare(port);
    bare.command({"DEL", "token"});
    bare.command({"LPUSH", "token", "x"});
  }
  void take() { bare_.command({"BLPOP", "token", "0"}); }
  void give() { bare_.command({"LPUSH", "token", "x"}); }

 private:
  Bare bare_;
};

}  // namespace bench::redis
