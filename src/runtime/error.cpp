#include <string>

#include "holdfast/result.hpp"

namespace holdfast {
namespace {

class Category final : public std::error_category {
 public:
  const char* name() const noexcept override { return "holdfast"; }
  std::string message(int code) const override {
    return std::string(to_string(static_cast<Errc>(code)));
  }
};

const Category category;

}  // namespace

const std::error_category& error_category() noexcept { return category; }

std::error_code make_error_code(Errc code) noexcept {
  return {static_cast<int>(code), error_category()};
}

struct Error::Detail {
  std::string reason;
  std::string message;
  std::shared_ptr<const Holder> holder;
};

Error::Error(Errc code, std::string_view reason, const std::string& message,
             std::shared_ptr<const Holder> holder)
    : std::system_error(make_error_code(code), message),
      detail_(
          std::make_shared<const Detail>(Detail{std::string(reason), message, std::move(holder)})) {
}

Errc Error::errc() const noexcept { return static_cast<Errc>(code().value()); }
std::string_view Error::reason() const noexcept { return detail_->reason; }
const std::string& Error::message() const noexcept { return detail_->message; }
const Holder* Error::holder() const noexcept { return detail_->holder.get(); }

}  // namespace holdfast
