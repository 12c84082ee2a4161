/// Communicator over a table of message-passing functions.
#pragma once

#include "meniscus/parallel/communicator.hpp"
#include "meniscus/parallel/transport/rank_failure.hpp"
#include "meniscus/parallel/transport/transport_table.hpp"

#include <optional>

namespace meniscus::parallel {

/// Messages of one rank. While it waits it notices that another rank has failed, and throws RankFailure; after `agree` all ranks
/// can go on.
///
/// All collective operations are made of messages between two ranks, so that each can be left when a rank fails:
/// `gather` takes ceil(log2 n) rounds (Bruck et al., "Efficient algorithms for all-to-all communications in multiport
/// message-passing systems", IEEE Transactions on Parallel and Distributed Systems 8, 1997).
class TransportCommunicator final : public Communicator {
 public:
  /// Collective. `handle` as for `duplicate` of the table. Throws InvalidArgument where the library does not run, was made for
  /// fewer threads or has another version of the table, and for a communicator that is not valid.
  TransportCommunicator(const meniscus_transport& table, std::intptr_t handle);
  ~TransportCommunicator() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void exchange(std::span<const Message> outgoing, std::span<const Message> incoming) override;
  void start(PendingExchange& pending, std::span<const Message> outgoing, std::span<const Message> incoming) override;
  void wait(PendingExchange& pending) override;
  void abandon(PendingExchange& pending) override;
  void gather(const void* own, std::size_t bytes, void* all) override;
  std::optional<Failure> agree(const char* text) override;
  bool poisons_ghosts() const override { return poisons_; }
  bool any_number_of_blocks() const override { return true; }
  const Traffic& traffic() const override { return traffic_; }
  const char* transport() const override { return table_.name; }
  std::optional<std::intptr_t> handle() const override {
    return table_.handle ? std::optional(table_.handle(data_)) : std::nullopt;
  }

  void poison_ghosts(bool on) { poisons_ = on; }

 private:
  using Request = PendingExchange::Request;

  void check(int error) const;
  void post(void* channel, std::span<const Message> outgoing, std::span<const Message> incoming, std::vector<Request>& requests);
  void finish(void* channel, std::vector<Request>& requests);
  bool progress(void* channel, std::vector<Request>& requests);
  void break_off(std::vector<Request>& requests);
  void gather_over(void* channel, const void* own, std::size_t bytes, void* all, bool listening);
  void read_notes();
  void tell_all(const char* text);
  bool drain(int from);
  void drain_all();
  bool failing() const { return failed_ || noticed_; }
  void take_messages_sent_before(const std::vector<Index>& sent_by_all);

  const meniscus_transport& table_;
  void* data_ = nullptr;
  void* control_ = nullptr;  ///< for what ranks tell each other about failures
  int rank_ = 0, size_ = 1;
  bool poisons_ = false;
  Traffic traffic_;
  std::vector<std::vector<Request>> spare_;  ///< lists of requests for reuse
  std::vector<std::byte> rounds_, trash_;
  std::vector<PendingExchange*> open_;  ///< exchanges that have begun and not ended
  std::vector<Index> sent_, received_;  ///< messages on the data channel since the last failure, by rank
  bool failed_ = false;                 ///< whether this rank has told the others that it failed
  std::optional<Failure> noticed_;      ///< the failed rank with the lowest number that is known of
  std::vector<bool> told_;              ///< ranks whose notes have come
};

}  // namespace meniscus::parallel
