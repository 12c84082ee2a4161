#include "meniscus/core/error.hpp"

#include <sstream>

namespace meniscus::core::detail {

void MessagePart::append_to(std::ostream& message) const {
  switch (kind_) {
    case Kind::text:
      message << text_;
      break;
    case Kind::real:
      message << real_;
      break;
    case Kind::integer:
      message << integer_;
      break;
    case Kind::size:
      message << size_;
      break;
  }
}

void refuse(std::initializer_list<MessagePart> parts) {
  std::ostringstream message;
  for (const MessagePart& part : parts) part.append_to(message);
  throw InvalidArgument(message.str());
}

}  // namespace meniscus::core::detail
