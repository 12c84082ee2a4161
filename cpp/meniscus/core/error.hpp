/// Exceptions of the library. The message of each is one sentence that says what was wrong and what was expected.
#pragma once

#include "meniscus/core/namespaces.hpp"

#include <sstream>
#include <stdexcept>
#include <string>

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

/// Throws InvalidArgument with all parts joined when the condition does not hold.
template <class... Parts>
void require(bool condition, const Parts&... parts) {
  if (condition) [[likely]]
    return;
  std::ostringstream message;
  (message << ... << parts);
  throw InvalidArgument(message.str());
}

}  // namespace meniscus::core
