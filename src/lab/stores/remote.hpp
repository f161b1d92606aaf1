// lab/stores/remote.hpp: how one process sees a site: the backend that its gates use.
#pragma once

#include "lab/stores/site.hpp"

namespace holdfast::lab {

class Remote final : public Backend, public Cells {
 public:
  Remote(Site& site, Process& process);

  const Traits& traits() const noexcept override { return site_.traits(); }
  Cells* cells() noexcept override { return this; }
  void ask(const Ask& ask, Pending<Answer>& call) noexcept override;
  void renew(std::span<const Keep> keeps, Pending<std::span<Answer>>& call) noexcept override;
  void release(std::span<const Drop> drops, Pending<std::span<Answer>>& call) noexcept override;
  void revoke(std::string_view name, bool now, Pending<Answer>& call) noexcept override;
  void describe(std::string_view name, Pending<Listing>& call) noexcept override;
  void list(std::string_view prefix, Pending<Listing>& call) noexcept override;
  void add(const Add& add, Pending<Cell>& call) noexcept override;
  void swap(const Swap& swap, Pending<Cell>& call) noexcept override;
  void get(std::string_view name, Pending<Cell>& call) noexcept override;
  void guarantees(Pending<Promise>& call) noexcept override;
  void init(Init what, Pending<Answer>& call) noexcept override;
  void help(const Call*, BootTime, int) noexcept override {}  // there are no threads to lend

 private:
  // A request's name lives as long as its call, but the request may travel longer than that.
  template <class Request>
  Request lasting(Request request) const {
    request.name = site_.scene().names[site_.scene().lock_named(request.name)];
    return request;
  }
  template <class Request, class Step>
  void send_all(std::span<const Request> requests, Pending<std::span<Answer>>& call,
                const Step& step);

  void change(std::string_view name, Pending<Cell>& call, CellStep step);

  Site& site_;
  Process& process_;
  const core::Party party_;
};

}  // namespace holdfast::lab
