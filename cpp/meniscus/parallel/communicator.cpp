#include "meniscus/parallel/communicator.hpp"

#include "meniscus/core/error.hpp"

#include <cstring>

namespace meniscus::parallel {
namespace {

class SingleBlockCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  void exchange(std::span<const Message> outgoing, std::span<const Message> incoming) override {
    require(outgoing.size() == incoming.size(), "a domain of one block has no block to exchange messages with");
    for (std::size_t i = 0; i < outgoing.size(); ++i) {
      const Message &out = outgoing[i], &in = incoming[i];
      require(out.block == 0 && in.block == 0 && out.tag == in.tag && out.bytes == in.bytes,
              "a domain of one block has no block to exchange messages with");
      if (out.bytes > 0) std::memcpy(in.data, out.data, out.bytes);
    }
  }
  void gather(const void* own, std::size_t bytes, void* all) override { std::memcpy(all, own, bytes); }
};

}  // namespace

void Communicator::start(PendingExchange&, std::span<const Message> outgoing, std::span<const Message> incoming) {
  exchange(outgoing, incoming);
}

void Communicator::wait(PendingExchange&) {}
void Communicator::abandon(PendingExchange&) {}

std::optional<Failure> Communicator::agree(const char* text) {
  if (text) return Failure{rank(), text};
  return std::nullopt;
}

const Traffic& Communicator::traffic() const {
  static const Traffic none;
  return none;
}

const std::shared_ptr<Communicator>& single_block_communicator() {
  static const std::shared_ptr<Communicator> the_one = std::make_shared<SingleBlockCommunicator>();
  return the_one;
}

}  // namespace meniscus::parallel
