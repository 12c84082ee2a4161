/// Exceptions of the library. The message of each is one sentence that says what was wrong and what was expected.
#pragma once

#include "meniscus/core/namespaces.hpp"

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <stdexcept>
#include <string>
#include <string_view>

namespace meniscus::core {

/// A value that makes no sense (becomes ValueError in Python).
class InvalidArgument : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// A right value of the wrong kind, such as another scalar type (becomes TypeError in Python).
class WrongType : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller asked for a running computation to stop; no target has been changed.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error("the computation was interrupted") {}
};

namespace detail {

/// A part of a message: text or a number. What joins them is compiled once, because a message is different in each place.
class MessagePart {
 public:
  explicit MessagePart(std::string_view text) : kind_(Kind::text), text_(text) {}
  explicit MessagePart(double number) : kind_(Kind::real), real_(number) {}
  template <std::signed_integral I>
  explicit MessagePart(I number) : kind_(Kind::integer), integer_(number) {}
  template <std::unsigned_integral I>
  explicit MessagePart(I number) : kind_(Kind::size), size_(number) {}
  explicit MessagePart(char) = delete;

  void append_to(std::ostream& message) const;

 private:
  enum class Kind : std::uint8_t { text, real, integer, size };
  Kind kind_;
  std::string_view text_;
  double real_ = 0;
  std::int64_t integer_ = 0;
  std::uint64_t size_ = 0;
};

/// Throws InvalidArgument with all parts joined.
[[noreturn]] void refuse(std::initializer_list<MessagePart> parts);

}  // namespace detail

/// Throws InvalidArgument with all parts joined when the condition does not hold.
template <class... Parts>
void require(bool condition, const Parts&... parts) {
  if (condition) [[likely]]
    return;
  detail::refuse({detail::MessagePart(parts)...});
}

}  // namespace meniscus::core
