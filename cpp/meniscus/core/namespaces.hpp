/// Namespaces of the rooms: each room has its own, and the names of core need no prefix in any of them.
#pragma once

namespace meniscus {
namespace core {}
using namespace core;
}  // namespace meniscus
