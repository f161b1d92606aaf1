// holdfast/result.hpp: Result<T>, Error, Errc; and the small values that answers are made of.
//
//   if (auto lease = lock.try_acquire_for(5s)) use(*lease);
//   else complain(lease.error());      // busy, or in trouble: the code says which
//
// Result<T> has the shape of std::expected<T, Error>. A code exists only if callers react to it in
// a way of its own:
//
//   code         what happened                                       what to do
//   busy         another holds it; holder() says who, if known       wait, or do something else
//   cancelled    the caller's stop token, or the store was closed    nothing
//   lost         the lease (or place in line) had ended before       stop; somebody else may be in
//   unknown      it may have happened (never from an acquire)        nothing: holdfast sees to it
//   unavailable  the store did not answer, or not in time            try later
//   denied       authentication or rights                            ask the store's administrator
//   unsupported  this store, as configured, cannot do that           choose another store or option
//   invalid      the request makes no sense                          correct the program
//   corrupt      the store's data is not what holdfast wrote         look at the store first
//
// reason() is a stable word beside the code ("too_slow", "closed") for logs, --json and tests.
// A message says what happened, on which store and name, and what to do. It never has a secret.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>
#include <variant>

namespace holdfast {

using Millis = std::chrono::milliseconds;
inline constexpr Millis forever = Millis::max();

// Fencing token: strictly increases per name over all grants. 0: this store mints none.
struct Token {
  std::uint64_t value = 0;
  friend auto operator<=>(const Token&, const Token&) = default;
};

// Who holds a name, or waits for it, as the store reports it. Never has the claim id, with which
// one could release it.
struct Holder {
  std::string name;
  std::string who;  // host, process, program and label
  Token token;
  std::optional<Millis> ttl_left;
  std::optional<Millis> held_for;
  std::uint32_t weight = 1;
  std::uint32_t capacity = 1;
  bool waits = false;
};

enum class Errc {
  busy = 1,
  cancelled,
  lost,
  unknown,
  unavailable,
  denied,
  unsupported,
  invalid,
  corrupt,
};

const std::error_category& error_category() noexcept;
std::error_code make_error_code(Errc code) noexcept;
std::string_view to_string(Errc code) noexcept;  // "busy", "cancelled", …

// The one type that a Result carries and that value() throws.
class Error : public std::system_error {
 public:
  Error(Errc code, std::string_view reason, const std::string& message,
        std::shared_ptr<const Holder> holder = {});
  Errc errc() const noexcept;
  std::string_view reason() const noexcept;
  const std::string& message() const noexcept;  // without the prefix that what() has
  const Holder* holder() const noexcept;        // busy: who holds it, if the store knows

 private:
  struct Detail;
  std::shared_ptr<const Detail> detail_;  // shared, so that copying an exception cannot throw
};

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  using error_type = Error;

  Result(T value) : both_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : both_(std::in_place_index<1>, std::move(error)) {}

  bool has_value() const noexcept { return both_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  T& operator*() & noexcept { return *std::get_if<0>(&both_); }
  const T& operator*() const& noexcept { return *std::get_if<0>(&both_); }
  T&& operator*() && noexcept { return std::move(**this); }
  T* operator->() noexcept { return std::get_if<0>(&both_); }
  const T* operator->() const noexcept { return std::get_if<0>(&both_); }

  T& value() & { return has_value() ? **this : throw Error(error()); }
  const T& value() const& { return has_value() ? **this : throw Error(error()); }
  T&& value() && { return std::move(value()); }

  template <class U>
  T value_or(U&& other) const& {
    return has_value() ? **this : static_cast<T>(std::forward<U>(other));
  }
  template <class U>
  T value_or(U&& other) && {
    return has_value() ? std::move(**this) : static_cast<T>(std::forward<U>(other));
  }

  const Error& error() const noexcept { return *std::get_if<1>(&both_); }

  // f(T) returns a Result.
  template <class F>
  auto and_then(F&& f) && -> std::invoke_result_t<F, T&&> {
    if (!has_value()) return error();
    return std::invoke(std::forward<F>(f), std::move(**this));
  }
  // f(T) returns a plain value.
  template <class F>
  auto transform(F&& f) && -> Result<std::invoke_result_t<F, T&&>> {
    if (!has_value()) return error();
    return std::invoke(std::forward<F>(f), std::move(**this));
  }

 private:
  std::variant<T, Error> both_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  using error_type = Error;

  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool has_value() const noexcept { return !error_; }
  explicit operator bool() const noexcept { return has_value(); }
  void value() const {
    if (error_) throw Error(*error_);
  }
  const Error& error() const noexcept { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace holdfast

template <>
struct std::is_error_code_enum<holdfast::Errc> : std::true_type {};
