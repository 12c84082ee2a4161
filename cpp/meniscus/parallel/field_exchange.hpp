/// Halo exchange of several arrays at once, of any staggering: one message to each neighbour, edges and corners included.
///
/// The ghosts of an array that other blocks own, and the copies of samples on shared sides, come from their owners in one round.
/// A halo plan needs a round for each axis, but carries what lies beyond the sides of the domain along. Ghosts beyond the sides
/// of the domain are left alone here.
#pragma once

#include "meniscus/parallel/box_exchange.hpp"
#include "meniscus/parallel/domain_block.hpp"

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

/// The samples of an array that a block owns, in coordinates of the whole domain.
template <int D>
IndexBox<D> owned_samples(const DomainBlock<D>& block, const std::array<int, D>& on_side);

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
  Index messages() const { return static_cast<Index>(outgoing_.size()); }
  Index bytes() const;

 private:
  /// A box that goes to another block or comes from it, in local coordinates of the array.
  struct Piece {
    int block;
    std::size_t array;
    IndexBox<D> box;
  };
  /// A box of ghosts whose owner is this block itself, around a periodic axis.
  struct Own {
    std::size_t array;
    IndexBox<D> to;
    Coord<D> from;  ///< the first sample
  };
  std::size_t bytes_of(const Piece& p) const;
  void lay_out(std::vector<Piece>& pieces, std::vector<Message>& messages, std::vector<std::byte>& memory);
  void copy_own() const;
  void poison() const;

  std::shared_ptr<Communicator> communicator_;
  std::vector<ArrayPlace<D>> places_;
  std::vector<Piece> sent_, taken_;
  std::vector<Own> own_;
  std::vector<Message> outgoing_, incoming_;
  std::vector<std::byte> out_, in_;
  std::vector<ArrayMemory<D>> arrays_;
  PendingExchange pending_;
};

}  // namespace meniscus::parallel
