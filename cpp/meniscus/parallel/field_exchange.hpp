/// Halo exchange of several arrays at once, of any staggering: one message to each neighbour, edges and corners included.
///
/// The ghosts of an array that other blocks own, and the copies of samples on shared sides, come from their owners in one round.
/// A halo plan needs a round for each axis, but carries what lies beyond the sides of the domain along. Ghosts beyond the sides
/// of the domain are left alone here.
#pragma once

#include "meniscus/parallel/box_exchange.hpp"

namespace meniscus::parallel {

/// Where the samples of one of the arrays lie.
template <int D>
struct ArrayPlace {
  /// Per axis: samples in the cells (0) or on their sides (1); owners as in HaloLayout.
  std::array<int, D> on_side{};
  /// Bytes of a sample.
  std::size_t bytes = 8;
};

/// Memory of one array: its sample (0, 0, 0), and bytes from sample to sample. Rows are contiguous.
template <int D>
struct ArrayMemory {
  std::byte* origin = nullptr;
  Coord<D> strides{};
};

template <int D>
class FieldExchange {
 public:
  /// Collective. `width`: layers of ghosts that are filled. Throws InvalidArgument on all blocks where one has other arrays.
  FieldExchange(std::shared_ptr<Communicator> communicator, const DomainBlock<D>& block, std::vector<ArrayPlace<D>> places,
                int width);
  ~FieldExchange() { communicator_->abandon(pending_); }
  FieldExchange(const FieldExchange&) = delete;
  FieldExchange& operator=(const FieldExchange&) = delete;

  /// Collective. The arrays must not be changed before `wait` has returned.
  void start(std::span<const ArrayMemory<D>> arrays);
  void wait();

  std::size_t arrays() const { return places_.size(); }
  /// Messages and bytes that this block sends.
  Index messages() const { return static_cast<Index>(joint_->outgoing().size()); }
  Index bytes() const { return static_cast<Index>(joint_->leaving()); }

 private:
  using Transfer = typename BoxExchange<D>::Transfer;
  /// The fetch of the ghosts of an array.
  Transfer fetching(std::size_t array, const BoxExchange<D>& boxes) const;

  std::shared_ptr<Communicator> communicator_;
  Coord<D> first_;  ///< of the cells of the block
  std::vector<ArrayPlace<D>> places_;
  std::vector<ArrayMemory<D>> arrays_;
  std::vector<BoxExchange<D>> boxes_;
  std::vector<Transfer> transfers_;
  std::optional<JointTransfer<D>> joint_;
  std::vector<std::byte> memory_;
  PendingExchange pending_;
};

}  // namespace meniscus::parallel
