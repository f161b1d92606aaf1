// stores/etcd/streams.hpp: etcd's streaming calls: watches here, keep-alives in keep_alives.hpp. A
// stream is opened when it is first needed, on the member that is in use then, and again after it
// broke.
#pragma once

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <optional>

#include "etcd.grpc.pb.h"
#include "stores/etcd/client.hpp"

namespace holdfast::stores::etcd {

struct Member;
void set_deadline(grpc::ClientContext& context, BootTime limit);

// What gRPC's queue gives back when an operation is done. gRPC promises that whoever takes a tag
// sees what was written before it was given; `given_` shows this to ThreadSanitizer.
class Tag {
 public:
  void* give() noexcept {
    given_.store(true, std::memory_order_release);
    return this;
  }
  static void take(void* tag, bool ok) noexcept {
    Tag& taken = *static_cast<Tag*>(tag);
    static_cast<void>(taken.given_.load(std::memory_order_acquire));
    taken.done(ok);
  }

 protected:
  ~Tag() = default;

 private:
  virtual void done(bool ok) noexcept = 0;

  std::atomic<bool> given_ = false;
};

// One open stream. One read and at most one write are under way; when both have ended, the stream
// is finished. It lives until then.
template <class Request, class Response>
class Conversation {
 public:
  using Wire = grpc::ClientAsyncReaderWriter<Request, Response>;
  class Partner {
   public:
    virtual void heard(const Conversation& from, const Response& response) noexcept = 0;
    virtual void ended(const Conversation& what) noexcept = 0;
    virtual void finished(Conversation& what) noexcept = 0;  // the last call; may delete it

   protected:
    ~Partner() = default;
  };

  explicit Conversation(Partner& partner) : partner_(partner) {}
  grpc::ClientContext& context() noexcept { return context_; }
  void begin(std::unique_ptr<Wire> wire) {
    wire_ = std::move(wire);
    wire_->StartCall(started_.give());
  }
  void say(const Request& request);
  void end() noexcept { context_.TryCancel(); }
  bool over() const noexcept { return over_; }

  std::size_t place = 0;           // of the member that it was opened on
  std::atomic<bool> left = false;  // we gave it up

 private:
  struct Step final : Tag {
    Step(Conversation& of, void (Conversation::*next)(bool)) : talk(of), then(next) {}
    void done(bool ok) noexcept override { (talk.*then)(ok); }
    Conversation& talk;
    void (Conversation::*then)(bool);
  };
  void on_started(bool ok);
  void on_read(bool ok);
  void on_written(bool ok);
  void on_finished(bool ok);

  Partner& partner_;
  grpc::ClientContext context_;
  std::unique_ptr<Wire> wire_;
  Step started_{*this, &Conversation::on_started}, read_{*this, &Conversation::on_read},
      written_{*this, &Conversation::on_written}, finished_{*this, &Conversation::on_finished};
  Response response_;
  grpc::Status status_;

  std::mutex mutex_;
  std::deque<Request> to_say_;
  bool writing_ = true;             // or starting, or finishing
  std::atomic<bool> over_ = false;  // nothing more will be heard
};

// What watches and keep-alives share: a conversation that is opened again after it ended.
template <class Request, class Response>
class Stream : public Conversation<Request, Response>::Partner {
 protected:
  using Talk = Conversation<Request, Response>;
  using Open = std::unique_ptr<typename Talk::Wire> (*)(Member& member,
                                                        grpc::ClientContext* context,
                                                        grpc::CompletionQueue* queue);
  Stream(Connection& connection, Open open) : connection_(connection), open_(open) {}
  ~Stream() = default;
  // The open conversation, or else a new one on that member; null: none could be opened.
  std::shared_ptr<Talk> talk(Member& member);
  // Detaches the open conversation, if it is on that member or no member is named. The caller must
  // end() it, because its waiters get no answer before that.
  std::shared_ptr<Talk> take_off(std::optional<std::size_t> place = {}) noexcept;
  void end(const std::shared_ptr<Talk>& taken_off) noexcept;
  void break_off() noexcept { end(take_off()); }
  // That conversation is over: removes from `all`, and returns, what was under way on it.
  template <class Map, class TalkOf>
  Map taken_with(const Talk& what, Map& all, TalkOf talk_of) noexcept;
  void finished(Talk& what) noexcept final;

  Connection& connection_;
  const Open open_;
  std::mutex mutex_;
  std::shared_ptr<Talk> talk_;
};

template <class Request, class Response>
template <class Map, class TalkOf>
Map Stream<Request, Response>::taken_with(const Talk& what, Map& all, TalkOf talk_of) noexcept {
  Map taken;
  const std::lock_guard lock(mutex_);
  if (talk_.get() == &what) talk_.reset();
  for (auto at = all.begin(); at != all.end();) {
    const auto each = at++;
    if (talk_of(each->second) == &what) taken.insert(all.extract(each));
  }
  return taken;
}

class Watches final : Stream<etcdserverpb::WatchRequest, etcdserverpb::WatchResponse> {
 public:
  Watches(Connection& connection, Watching& watching);
  using Stream::break_off;
  bool open(WatchId id, const Client::Watch& watch) noexcept;
  void close(WatchId watch) noexcept;

 private:
  void heard(const Talk& from, const etcdserverpb::WatchResponse& response) noexcept final;
  void ended(const Talk& what) noexcept final;

  Watching& watching_;
  std::map<WatchId, const Talk*> open_watches_;
};

}  // namespace holdfast::stores::etcd
