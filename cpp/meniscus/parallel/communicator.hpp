/// Message passing between the blocks of a domain. All code that computes on blocks uses this interface only.
#pragma once

#include "meniscus/core/types.hpp"
#include "meniscus/parallel/message_seconds.hpp"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace meniscus::parallel {

/// Contiguous memory that goes to a block, or comes from it.
struct Message {
  int block;
  int tag;
  std::byte* data;
  std::size_t bytes;
};

/// Tags of messages, which also say what is counted where. Those of a halo plan are 2 * axis + upper.
namespace tags {
inline constexpr int halo = 0;
inline constexpr int boxes = 6;
inline constexpr int fields = 7;
inline constexpr int particles = 8;
inline constexpr int numbering = 9;
inline constexpr int collection = 10;
inline constexpr int gather = 11;
inline constexpr int reduction = 12;
inline constexpr int count = 13;
}  // namespace tags

/// Messages and bytes that a block has sent, by tag.
struct Traffic {
  std::array<Index, tags::count> messages{}, bytes{};
  /// Exchanges in which it waited for messages: how often a latency counts.
  Index rounds = 0;
};

/// The number of a block that failed, and why.
struct Failure {
  int rank;
  std::string text;
};

/// Messages that have been sent, or are waited for.
class PendingExchange {
 public:
  struct Request {
    std::intptr_t handle;
    bool receives;
    int block;
    std::size_t bytes;
  };
  std::vector<Request> requests;
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

  /// The same in two parts, between which the block may compute. The memory of all messages stays until `wait` has returned.
  /// Transports that cannot work in the background do everything at the start.
  virtual void start(PendingExchange& pending, std::span<const Message> outgoing, std::span<const Message> incoming);
  virtual void wait(PendingExchange& pending);
  /// Gives up an exchange that nobody will wait for: its memory may go. Only after a failure, see `agree`.
  virtual void abandon(PendingExchange& pending);

  /// Collective: `all` becomes what every block hands in (`bytes` each), in the order of their numbers.
  virtual void gather(const void* own, std::size_t bytes, void* all) = 0;

  /// Collective, and to be called where each block has come to an end or failed: nothing if all have come to an end, else on
  /// every block the first that failed. `text` says why this block failed; nullptr if it did not, or only because another one
  /// did. Messages of what has been broken off are gone afterwards, and the blocks can go on.
  virtual std::optional<Failure> agree(const char* text);

  /// Whether ghosts are overwritten with bytes of ones (NaN) before each exchange that fills them. Tests find in this way who
  /// relies on what an exchange does not fill.
  virtual bool poisons_ghosts() const { return false; }

  /// Whether results must not depend on the number of blocks, also where there is only one.
  virtual bool any_number_of_blocks() const { return false; }

  /// Messages and bytes sent by this block since it was made.
  virtual const Traffic& traffic() const;

  /// Seconds spent on messages by this block since it was made. A domain of one block has none.
  const MessageSeconds& seconds() const { return seconds_; }
  void set_clock(SecondsOf clock) { clock_ = clock; }
  /// Counts the life of the result as packing; to be held where arrays are copied to messages or back.
  [[nodiscard]] std::optional<Stopwatch> packing() {
    return size() > 1 ? std::optional<Stopwatch>(std::in_place, seconds_.pack, clock_) : std::nullopt;
  }

  /// Name of what carries the messages.
  virtual const char* transport() const { return "one rank"; }

  /// The handle by which libraries over the same transport know the ranks, where there is one.
  virtual std::optional<std::intptr_t> handle() const { return std::nullopt; }

  /// Memory for messages, kept from call to call. It is valid until the next call.
  std::byte* buffer(std::size_t bytes) {
    if (buffer_.size() < bytes) buffer_.resize(bytes);
    return buffer_.data();
  }

 protected:
  [[nodiscard]] Stopwatch waiting() { return Stopwatch(seconds_.wait, clock_); }

 private:
  std::vector<std::byte> buffer_;
  MessageSeconds seconds_;
  SecondsOf clock_ = SecondsOf::wall;
};

/// The communicator of a domain of one block, which exchanges nothing.
const std::shared_ptr<Communicator>& single_block_communicator();

}  // namespace meniscus::parallel
