#include "stores/etcd/client.hpp"

#include <random>
#include <utility>

#include "stores/etcd/connection.hpp"

namespace holdfast::stores::etcd {
namespace {

void read_header(const pb::ResponseHeader& header, Reply& reply) {
  reply.revision = header.revision();
  reply.term = header.raft_term();
}

std::vector<KeyValue> read_all(const pb::RangeResponse& response) {
  std::vector<KeyValue> all;
  all.reserve(static_cast<std::size_t>(response.kvs_size()));
  for (const pb::KeyValue& kv : response.kvs())
    all.push_back({kv.key(), kv.value(), kv.create_revision(), kv.mod_revision(), kv.lease()});
  return all;
}

void write(const Condition& condition, pb::Compare& compare) {
  compare.set_key(condition.key);
  compare.set_range_end(condition.end);
  if (condition.of == Condition::Of::created) {
    compare.set_target(pb::Compare::CREATE);
    compare.set_create_revision(condition.revision);
  } else {
    compare.set_target(pb::Compare::MOD);
    compare.set_mod_revision(condition.revision);
  }
}

void write(const Operation& operation, pb::RequestOp& request) {
  switch (operation.what) {
    case Operation::What::range:
      request.mutable_request_range()->set_key(operation.key);
      request.mutable_request_range()->set_range_end(operation.end);
      break;
    case Operation::What::put:
      request.mutable_request_put()->set_key(operation.key);
      request.mutable_request_put()->set_value(operation.value);
      request.mutable_request_put()->set_lease(operation.lease);
      request.mutable_request_put()->set_ignore_lease(operation.keep_lease);
      break;
    case Operation::What::remove:
      request.mutable_request_delete_range()->set_key(operation.key);
      request.mutable_request_delete_range()->set_range_end(operation.end);
      break;
  }
}

}  // namespace

std::uint64_t random_bits() {
  std::random_device random;
  return std::uint64_t{random()} << 32 | random();
}

// ── retries ──────────────────────────────────────────────────────────────────────────────────────

template <class Result, class Response, class Request, class Method, class Read>
Later<Result> Connection::carry(Request request, Method method, Read read, BootTime deadline) {
  Result result;
  for (std::size_t attempts = 1;; ++attempts) {
    if (Reply login = co_await log_in(deadline); !login.done()) {
      result.problem = std::move(login.problem);
      break;
    }
    Member& member = current();
    const std::string used = token();
    const std::int64_t seen = newest_.load();
    auto answer = co_await once<Response>(member, request, method, attempt_until(deadline));
    if (answer.status.ok()) {
      result.outcome = Outcome::done;
      read_header(answer.response.header(), result);
      read(answer.response, result);
      keep_alives_.saw(result.term);
      result.went_back = result.revision < seen;
      saw(result.revision);
      co_return result;
    }
    const auto code = answer.status.error_code();
    Judged judged = judge(code, answer.status.error_message(), member.address);
    // A timeout says less than the error before it.
    if (attempts == 1 || code != grpc::StatusCode::DEADLINE_EXCEEDED)
      result.problem = std::move(judged.problem);
    if (judged.verdict == Verdict::elsewhere) result.repeated = true;
    if (judged.verdict == Verdict::refused) break;
    if (BootClock::now() >= deadline) break;
    if (judged.verdict == Verdict::log_in) {
      forget_token(used);
    } else {
      leave(member);
    }
    if (!co_await pause_after(attempts, deadline)) break;
  }
  result.outcome = result.repeated ? Outcome::unknown : Outcome::refused;
  co_return result;
}

Later<LeaseKept> Connection::keep(std::int64_t lease, BootTime deadline, Keeping how) {
  LeaseKept kept;
  for (std::size_t attempts = 1;; ++attempts) {
    if (const Reply login = co_await log_in(deadline); !login.done()) {
      kept.problem = login.problem;
      break;
    }
    kept = co_await keep_alives_.once(lease, deadline, how);
    if (kept.done()) break;
    kept.problem = {Errc::unavailable, "too_slow", "no keep-alive was answered in time"};
    if (BootClock::now() >= deadline) break;
    if (!co_await pause_after(attempts, deadline)) break;
  }
  co_return kept;
}

// ── the requests ─────────────────────────────────────────────────────────────────────────────────

Client::Client(const Options& options, Watching& watching, std::function<void(BootTime)> tick_at)
    : connection_(std::make_unique<Connection>(options, watching, std::move(tick_at))) {}

Client::~Client() = default;

Later<Transacted> Client::transact(Transaction transaction, BootTime deadline) {
  pb::TxnRequest request;
  for (const Condition& condition : transaction.when) write(condition, *request.add_compare());
  for (const Operation& operation : transaction.then) write(operation, *request.add_success());
  for (const Operation& operation : transaction.otherwise) write(operation, *request.add_failure());
  return connection_->carry<Transacted, pb::TxnResponse>(
      std::move(request),
      [](Member& at, auto* context, const auto& asked, auto* queue) {
        return at.kv->PrepareAsyncTxn(context, asked, queue);
      },
      [](const pb::TxnResponse& response, Transacted& result) {
        result.held = response.succeeded();
        for (const pb::ResponseOp& each : response.responses())
          result.found.push_back(read_all(each.response_range()));
      },
      deadline);
}

Later<Found> Client::find(std::string key, std::string end, std::int64_t most, BootTime deadline) {
  pb::RangeRequest request;
  request.set_key(std::move(key));
  request.set_range_end(std::move(end));
  request.set_limit(most);
  return connection_->carry<Found, pb::RangeResponse>(
      std::move(request),
      [](Member& at, auto* context, const auto& asked, auto* queue) {
        return at.kv->PrepareAsyncRange(context, asked, queue);
      },
      [](const pb::RangeResponse& response, Found& result) {
        result.all = read_all(response);
        result.more = response.more();
      },
      deadline);
}

Later<Removed> Client::remove(std::string key, std::string end, BootTime deadline) {
  pb::DeleteRangeRequest request;
  request.set_key(std::move(key));
  request.set_range_end(std::move(end));
  return connection_->carry<Removed, pb::DeleteRangeResponse>(
      std::move(request),
      [](Member& at, auto* context, const auto& asked, auto* queue) {
        return at.kv->PrepareAsyncDeleteRange(context, asked, queue);
      },
      [](const pb::DeleteRangeResponse& response, Removed& result) {
        result.count = response.deleted();
      },
      deadline);
}

// If the lease exists already, an earlier copy of this request granted it and its answer was lost.
Later<LeaseGranted> Client::grant(std::chrono::seconds ttl, BootTime deadline) {
  pb::LeaseGrantRequest request;
  request.set_ttl(ttl.count());
  request.set_id(static_cast<std::int64_t>(random_bits() >> 1 | 1));  // positive
  const std::int64_t lease = request.id();
  LeaseGranted granted = co_await connection_->carry<LeaseGranted, pb::LeaseGrantResponse>(
      std::move(request),
      [](Member& at, auto* context, const auto& asked, auto* queue) {
        return at.lease->PrepareAsyncLeaseGrant(context, asked, queue);
      },
      [](const pb::LeaseGrantResponse& response, LeaseGranted& result) {
        result.ttl = std::chrono::seconds(response.ttl());
      },
      deadline);
  if (granted.problem.reason == "lease_exists") {
    const LeaseLeft left = co_await time_left(lease, deadline);
    static_cast<Reply&>(granted) = static_cast<const Reply&>(left);
    granted.ttl = left.granted;
    if (!left.done()) granted.outcome = Outcome::unknown;
  }
  granted.lease = lease;
  co_return granted;
}

Later<Reply> Client::revoke(std::int64_t lease, BootTime deadline) {
  pb::LeaseRevokeRequest request;
  request.set_id(lease);
  return connection_->carry<Reply, pb::LeaseRevokeResponse>(
      std::move(request),
      [](Member& at, auto* context, const auto& asked, auto* queue) {
        return at.lease->PrepareAsyncLeaseRevoke(context, asked, queue);
      },
      [](const pb::LeaseRevokeResponse&, Reply&) {}, deadline);
}

Later<LeaseKept> Client::keep(std::int64_t lease, BootTime deadline, Keeping how) {
  return connection_->keep(lease, deadline, how);
}

Later<LeaseLeft> Client::time_left(std::int64_t lease, BootTime deadline) {
  pb::LeaseTimeToLiveRequest request;
  request.set_id(lease);
  return connection_->carry<LeaseLeft, pb::LeaseTimeToLiveResponse>(
      std::move(request),
      [](Member& at, auto* context, const auto& asked, auto* queue) {
        return at.lease->PrepareAsyncLeaseTimeToLive(context, asked, queue);
      },
      [](const pb::LeaseTimeToLiveResponse& response, LeaseLeft& result) {
        result.left = std::chrono::seconds(response.ttl());
        result.granted = std::chrono::seconds(response.grantedttl());
      },
      deadline);
}

Later<Alarms> Client::alarms(BootTime deadline) {
  return connection_->carry<Alarms, pb::AlarmResponse>(
      pb::AlarmRequest(),
      [](Member& at, auto* context, const auto& asked, auto* queue) {
        return at.maintenance->PrepareAsyncAlarm(context, asked, queue);
      },
      [](const pb::AlarmResponse& response, Alarms& result) {
        for (const pb::AlarmMember& alarm : response.alarms()) {
          result.no_space |= alarm.alarm() == pb::NOSPACE;
          result.corrupt |= alarm.alarm() == pb::CORRUPT;
        }
      },
      deadline);
}

Later<Members> Client::members(BootTime deadline) {
  return connection_->carry<Members, pb::MemberListResponse>(
      pb::MemberListRequest(),
      [](Member& at, auto* context, const auto& asked, auto* queue) {
        return at.cluster->PrepareAsyncMemberList(context, asked, queue);
      },
      [](const pb::MemberListResponse& response, Members& result) {
        for (const pb::Member& member : response.members()) result.names.push_back(member.name());
      },
      deadline);
}

Later<ServerStatus> Client::status(std::size_t member, BootTime deadline) {
  return connection_->status(member, deadline);
}

Later<ServerStatus> Connection::status(std::size_t place, BootTime deadline) {
  Member& asked = member(place);
  auto answer = co_await once<pb::StatusResponse>(
      asked, pb::StatusRequest(),
      [](Member& at, auto* context, const auto& request, auto* queue) {
        return at.maintenance->PrepareAsyncStatus(context, request, queue);
      },
      std::min(deadline, BootClock::now() + attempt_length));
  ServerStatus status;
  if (answer.status.ok()) {
    status.outcome = Outcome::done;
    read_header(answer.response.header(), status);
    status.version = answer.response.version();
    status.leads = answer.response.leader() == answer.response.header().member_id();
    status.follows = answer.response.leader() != 0;
    status.size = answer.response.dbsize();
  } else {
    status.outcome = Outcome::refused;
    status.problem =
        judge(answer.status.error_code(), answer.status.error_message(), asked.address).problem;
  }
  co_return status;
}

bool Client::watch(WatchId id, const Watch& watch) noexcept {
  return connection_->watches.open(id, watch);
}
void Client::unwatch(WatchId watch) noexcept { connection_->watches.close(watch); }
Later<bool> Client::pause(BootTime until) { return connection_->pause(until); }
BootTime Client::tick(BootTime now) noexcept { return connection_->tick(now); }
void Client::close() noexcept { connection_->close(); }

}  // namespace holdfast::stores::etcd
