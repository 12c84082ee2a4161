#include "meniscus/parallel/thread_blocks.hpp"

#include "meniscus/parallel/transport/thread_transport.hpp"
#include "meniscus/parallel/transport/transport_communicator.hpp"

#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace meniscus::parallel {

void run_thread_blocks(int count, const std::function<void(const std::shared_ptr<Communicator>&)>& program) {
  const ThreadRoom room(count);
  std::mutex mutex;
  std::exception_ptr failure;
  const auto note = [&](std::exception_ptr e) {
    const std::lock_guard lock(mutex);
    if (!failure) failure = std::move(e);
  };
  std::vector<std::thread> threads;
  for (int b = 0; b < count; ++b)
    threads.emplace_back([&, b] {
      const auto communicator = std::make_shared<TransportCommunicator>(thread_transport(), room.seat(b));
      const char* text = nullptr;
      try {
        program(communicator);
      } catch (const RankFailure&) {
        // The block that failed has left its exception.
      } catch (...) {
        note(std::current_exception());
        text = "a block has failed";
      }
      communicator->agree(text);
    });
  for (std::thread& t : threads) t.join();
  if (failure) std::rethrow_exception(failure);
}

}  // namespace meniscus::parallel
