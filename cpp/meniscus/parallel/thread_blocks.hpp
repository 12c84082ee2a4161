/// Blocks of a domain as threads of one process: each block runs the same program, like processes with message passing.
#pragma once

#include "meniscus/parallel/communicator.hpp"

#include <functional>

namespace meniscus::parallel {

/// Calls program(communicator) on `count` threads, one for each block, and returns when all have ended. When a program throws,
/// the others are stopped where they wait for a message, and the first exception is thrown again.
void run_thread_blocks(int count, const std::function<void(const std::shared_ptr<Communicator>&)>& program);

}  // namespace meniscus::parallel
