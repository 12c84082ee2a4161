/// Size of the memory of the machine.
#pragma once

#include <cstddef>

namespace meniscus::core {

/// Bytes of memory of this machine, as far as the system tells. Systems promise more than that, and end the process that believes
/// them.
std::size_t machine_memory();

}  // namespace meniscus::core
