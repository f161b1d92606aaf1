#include "stores/etcd/streams.hpp"

#include <utility>

#include "stores/etcd/connection.hpp"

namespace holdfast::stores::etcd {

// ── conversations ────────────────────────────────────────────────────────────────────────────────

template <class Request, class Response>
void Conversation<Request, Response>::say(const Request& request) {
  {
    const std::lock_guard lock(mutex_);
    if (over_) return;
    if (writing_) return to_say_.push_back(request);
    writing_ = true;
  }
  wire_->Write(request, written_.give());
}

template <class Request, class Response>
void Conversation<Request, Response>::on_started(bool ok) {
  over_ = !ok;
  if (ok) wire_->Read(&response_, read_.give());
  on_written(ok);
}

template <class Request, class Response>
void Conversation<Request, Response>::on_read(bool ok) {
  if (ok) {
    partner_.heard(*this, response_);
    return wire_->Read(&response_, read_.give());
  }
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    if (writing_) return;  // on_written() finishes it
  }
  wire_->Finish(&status_, finished_.give());
}

template <class Request, class Response>
void Conversation<Request, Response>::on_written(bool) {
  std::optional<Request> next;
  {
    const std::lock_guard lock(mutex_);
    writing_ = over_ || !to_say_.empty();
    if (!writing_) return;
    if (!over_) {
      next = std::move(to_say_.front());
      to_say_.pop_front();
    }
  }
  if (next) return wire_->Write(*next, written_.give());
  wire_->Finish(&status_, finished_.give());
}

template <class Request, class Response>
void Conversation<Request, Response>::on_finished(bool) {
  partner_.ended(*this);
  partner_.finished(*this);
}

// ── shared by watches and keep-alives ────────────────────────────────────────────────────────────

template <class Request, class Response>
auto Stream<Request, Response>::talk(Member& member) -> std::shared_ptr<Talk> {
  {
    const std::lock_guard lock(mutex_);
    if (talk_) return talk_;
  }
  const auto fresh = std::make_shared<Talk>(*this);
  fresh->place = member.place;
  fresh->context().AddMetadata("hasleader", "true");  // end it when the member has no leader
  connection_.prepare(fresh->context());
  if (!connection_.begin(fresh->context(), fresh)) return nullptr;
  {
    const SignalsBlocked blocked;
    fresh->begin(open_(member, &fresh->context(), connection_.queue()));
  }
  std::shared_ptr<Talk> used;
  {
    const std::lock_guard lock(mutex_);
    if (!talk_ && !fresh->over()) talk_ = fresh;
    used = talk_;
  }
  if (used != fresh) fresh->end();  // another thread was faster, or it is over
  return used;
}

template <class Request, class Response>
auto Stream<Request, Response>::take_off(std::optional<std::size_t> place) noexcept
    -> std::shared_ptr<Talk> {
  const std::lock_guard lock(mutex_);
  if (!talk_ || (place && *place != talk_->place)) return nullptr;
  talk_->left = true;
  return std::exchange(talk_, nullptr);
}

template <class Request, class Response>
void Stream<Request, Response>::end(const std::shared_ptr<Talk>& taken_off) noexcept {
  if (!taken_off) return;
  taken_off->end();
  this->ended(*taken_off);
}

template <class Request, class Response>
void Stream<Request, Response>::finished(Talk& what) noexcept {
  connection_.finish(what.context());
}

template class Conversation<pb::LeaseKeepAliveRequest, pb::LeaseKeepAliveResponse>;
template class Conversation<pb::WatchRequest, pb::WatchResponse>;
template class Stream<pb::LeaseKeepAliveRequest, pb::LeaseKeepAliveResponse>;
template class Stream<pb::WatchRequest, pb::WatchResponse>;

// ── watches ──────────────────────────────────────────────────────────────────────────────────────

Watches::Watches(Connection& connection, Watching& watching)
    : Stream(connection,
             [](Member& member, grpc::ClientContext* context, auto* queue) {
               return member.watch->PrepareAsyncWatch(context, queue);
             }),
      watching_(watching) {}

bool Watches::open(WatchId id, const Client::Watch& watch) noexcept try {
  pb::WatchRequest request;
  auto& create = *request.mutable_create_request();
  create.set_key(watch.key);
  create.set_range_end(watch.end);
  create.set_start_revision(watch.from);
  create.set_watch_id(id);
  if (watch.ends) create.add_filters(pb::WatchCreateRequest::NOPUT);
  const auto on = talk(connection_.current());
  {
    const std::lock_guard lock(mutex_);
    if (!on || talk_ != on) return false;
    open_watches_.emplace(id, on.get());
  }
  on->say(request);
  return true;
} catch (const std::bad_alloc&) {
  const std::lock_guard lock(mutex_);
  open_watches_.erase(id);
  return false;
}

void Watches::close(WatchId watch) noexcept try {
  std::shared_ptr<Talk> on;
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_watches_.find(watch);
    if (found == open_watches_.end()) return;
    if (talk_.get() == found->second) on = talk_;
    open_watches_.erase(found);
  }
  if (!on) return;
  pb::WatchRequest request;
  request.mutable_cancel_request()->set_watch_id(watch);
  on->say(request);
} catch (const std::bad_alloc&) {  // the server goes on, and heard() ignores it
}

void Watches::heard(const Talk&, const pb::WatchResponse& response) noexcept {
  const WatchId watch = response.watch_id();
  {
    const std::lock_guard lock(mutex_);
    const auto found = open_watches_.find(watch);
    if (found == open_watches_.end()) return;  // we closed it
    if (response.canceled()) open_watches_.erase(found);
  }
  if (response.canceled()) return watching_.closed(watch);
  if (response.created()) watching_.opened(watch, response.header().revision());
  for (const pb::Event& event : response.events()) {
    const bool ended = event.type() == pb::Event::DELETE;
    watching_.changed(watch, {ended, event.kv().value(), event.kv().mod_revision()});
  }
}

void Watches::ended(const Talk& what) noexcept {
  const auto closed = taken_with(what, open_watches_, [](const Talk* talk) { return talk; });
  for (const auto& [watch, talk] : closed) watching_.closed(watch);
}

}  // namespace holdfast::stores::etcd
