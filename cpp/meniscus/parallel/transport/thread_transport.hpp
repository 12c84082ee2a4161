/// Ranks that are threads of one process.
#pragma once

#include "meniscus/parallel/transport/transport_table.hpp"

#include <memory>

namespace meniscus::parallel {

/// Table whose communicators are seats in a room of threads.
const meniscus_transport& thread_transport();

/// Seats of a number of ranks. The handle of a seat is what `duplicate` of the table takes; it is valid as long as the room.
class ThreadRoom {
 public:
  explicit ThreadRoom(int ranks);
  ~ThreadRoom();
  ThreadRoom(const ThreadRoom&) = delete;
  ThreadRoom& operator=(const ThreadRoom&) = delete;

  int size() const;
  std::intptr_t seat(int rank) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace meniscus::parallel
