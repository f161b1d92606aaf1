// stores/etcd/connection.hpp: the members of a cluster, over gRPC: which of them is asked, the
// login, the running calls. Never call gRPC with a mutex held.
#pragma once

#include <grpcpp/grpcpp.h>
#include <signal.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <thread>

#include "etcd.grpc.pb.h"
#include "stores/common/flow.hpp"
#include "stores/etcd/client.hpp"
#include "stores/etcd/keep_alives.hpp"
#include "stores/etcd/trouble.hpp"

namespace holdfast::stores::etcd {

namespace pb = etcdserverpb;

inline constexpr auto attempt_length = std::chrono::seconds(1);  // then another member is asked
inline constexpr auto no_token = "none";                         // the server needs none

// New threads inherit this mask, because signals are for the program's own threads.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept;
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

struct Member {
  std::string address;
  std::size_t place = 0;
  std::unique_ptr<pb::KV::Stub> kv;
  std::unique_ptr<pb::Lease::Stub> lease;
  std::unique_ptr<pb::Watch::Stub> watch;
  std::unique_ptr<pb::Auth::Stub> auth;
  std::unique_ptr<pb::Cluster::Stub> cluster;
  std::unique_ptr<pb::Maintenance::Stub> maintenance;
};

template <class Response>
struct Exchanged {
  grpc::Status status{grpc::StatusCode::CANCELLED, "the store is closing"};
  Response response;
};

class Connection {
 public:
  Connection(const Options& options, Watching& watching, std::function<void(BootTime)> tick_at);

  // Sends it to one member, once.
  template <class Response, class Request, class Method>
  Later<Exchanged<Response>> once(Member& member, const Request& request, Method method,
                                  BootTime limit);
  // Sends it to member after member, until it is answered or refused, or its deadline has come.
  template <class Result, class Response, class Request, class Method, class Read>
  Later<Result> carry(Request request, Method method, Read read, BootTime deadline);
  Later<LeaseKept> keep(std::int64_t lease, BootTime deadline, Keeping how);
  Later<ServerStatus> status(std::size_t place, BootTime deadline);

  Member& current() noexcept;
  Member& member(std::size_t place) noexcept { return members_[place % members_.size()]; }
  std::size_t members() const noexcept { return members_.size(); }
  void leave(const Member& member) noexcept;  // the next call goes to another
  BootTime attempt_until(BootTime deadline) const noexcept;
  Later<bool> pause_after(std::size_t attempts, BootTime deadline);

  // Done if we have a token, or need none.
  Later<Reply> log_in(BootTime deadline);
  std::string token() const;
  void forget_token(const std::string& used) noexcept;

  // False: the store is closing, or there is no thread to listen. `keeps` lives until finish().
  bool begin(grpc::ClientContext& context, std::shared_ptr<void> keeps);
  void finish(grpc::ClientContext& context) noexcept;
  void prepare(grpc::ClientContext& context) const;  // adds our token

  grpc::CompletionQueue* queue() noexcept { return &queue_; }

  Later<bool> pause(BootTime until);
  BootTime tick(BootTime now) noexcept;
  void close() noexcept;

  Watches watches;

 private:
  Flow authenticate(BootTime deadline);
  void logged_in(const std::optional<Reply>& said) noexcept;
  void listen() noexcept;
  void saw(std::int64_t revision) noexcept;

  const Options options_;
  const std::function<void(BootTime)> tick_at_;
  std::vector<Member> members_;
  KeepAlives keep_alives_;
  std::atomic<std::int64_t> newest_{0};  // revision seen

  mutable std::mutex mutex_;
  std::condition_variable idle_;
  std::map<grpc::ClientContext*, std::shared_ptr<void>> running_;
  std::multimap<BootTime, Pledge<bool>> pauses_;
  std::size_t current_ = 0;
  bool closed_ = false;
  grpc::CompletionQueue queue_;
  std::thread listener_;  // takes all answers from queue_

  std::string token_;
  std::vector<Pledge<Reply>> awaiting_login_;
  Reply refused_;  // the answer to each login until …
  BootTime refused_until_;
};

template <class Response>
struct Unary final : Tag {
  explicit Unary(Connection& of) : connection(of) {}
  void done(bool) noexcept override {
    promise.answer({std::move(status), std::move(response)});
    connection.finish(context);  // may delete this
  }

  Connection& connection;
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientAsyncResponseReader<Response>> reader;
  Response response;
  grpc::Status status;
  Pledge<Exchanged<Response>> promise;
};

template <class Response, class Request, class Method>
Later<Exchanged<Response>> Connection::once(Member& member, const Request& request, Method method,
                                            BootTime limit) {
  const auto call = std::make_shared<Unary<Response>>(*this);
  auto later = call->promise.later();
  set_deadline(call->context, limit);
  prepare(call->context);
  if (!begin(call->context, call)) return later;
  const SignalsBlocked blocked;
  call->reader = method(member, &call->context, request, &queue_);
  call->reader->StartCall();
  call->reader->Finish(&call->response, &call->status, call->give());
  return later;
}

}  // namespace holdfast::stores::etcd
