/// Message passing between the blocks of a domain. All code that computes on blocks uses this interface only.
#pragma once

#include "meniscus/core/types.hpp"

#include <memory>
#include <span>
#include <vector>

namespace meniscus::parallel {

/// Contiguous memory that goes to a block, or comes from it.
struct Message {
  int block;
  int tag;
  std::byte* data;
  std::size_t bytes;
};

/// One of the communicating blocks. Messages between two blocks that have the same tag arrive in the order in which they were
/// sent. All blocks make the collective calls in the same order.
class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  /// Number of the own block, and of all blocks.
  virtual int rank() const = 0;
  virtual int size() const = 0;

  /// Sends all outgoing messages, and returns when all incoming ones have arrived. The size of a message is known on both sides.
  virtual void exchange(std::span<const Message> outgoing, std::span<const Message> incoming) = 0;

  /// Collective: `all` becomes what every block hands in (`bytes` each), in the order of their numbers.
  virtual void gather(const void* own, std::size_t bytes, void* all) = 0;

  /// Whether ghosts are overwritten with bytes of ones (NaN) before each exchange that fills them. Tests find in this way who
  /// relies on what an exchange does not fill.
  virtual bool poisons_ghosts() const { return false; }

  /// Memory for messages, kept from call to call. It is valid until the next call.
  std::byte* buffer(std::size_t bytes) {
    if (buffer_.size() < bytes) buffer_.resize(bytes);
    return buffer_.data();
  }

 private:
  std::vector<std::byte> buffer_;
};

/// The communicator of a domain of one block, which exchanges nothing.
const std::shared_ptr<Communicator>& single_block_communicator();

}  // namespace meniscus::parallel
