/// Halo exchange: fills the ghosts of a block from the blocks that own them.
///
/// A plan is made once for a block and a place in the cells, and serves every array of that layout: fields, masks, labels,
/// vectors of cells. It lists the layers that go through each shared side; what leaves the block is handed to a Communicator.
/// Where the block is its own neighbour, around a periodic axis, layers are copied in memory.
#pragma once

#include "meniscus/parallel/communicator.hpp"
#include "meniscus/parallel/domain_block.hpp"

namespace meniscus::parallel {

/// Memory layout of the samples of a block.
template <int D>
struct HaloLayout {
  DomainBlock<D> block;
  /// Per axis: samples in the cells (0) or on their sides (1). Two blocks share the samples on the side between them; the lower
  /// block owns them, and the other one keeps a copy.
  std::array<int, D> on_side{};
  int ghost = 0;
  /// Offset of the sample (0, 0, 0) from the first element, and from sample to sample, in elements. Rows are contiguous.
  Index origin = 0;
  Coord<D> strides{};
  /// Whether ghosts beyond two or three sides (edges and corners) are filled too. The whole block is then contiguous, in C order.
  bool corners = true;
};

template <int D>
class HaloPlan;

/// The memory of an array of the layout of a plan.
template <int D>
struct HaloArray {
  const HaloPlan<D>* plan = nullptr;
  std::byte* first = nullptr;
  std::size_t size = 0;  ///< bytes of a sample

  HaloArray() = default;
  template <class T>
  HaloArray(const HaloPlan<D>& p, T* f) : plan(&p), first(reinterpret_cast<std::byte*>(f)), size(sizeof(T)) {
    static_assert(std::is_trivially_copyable_v<T>);
  }
};

template <int D>
class HaloPlan {
 public:
  static constexpr int max_ghost = 8;

  HaloPlan() = default;
  /// Throws InvalidArgument for too many ghosts, and for a block that is too thin to fill those of its neighbours.
  explicit HaloPlan(const HaloLayout<D>& layout, std::shared_ptr<Communicator> communicator = single_block_communicator());

  const DomainBlock<D>& block() const { return layout_.block; }
  Communicator& communicator() const { return *communicator_; }

  /// Whether the side is shared with a block (perhaps this one), and not a side of the domain.
  bool shared(int axis, int upper) const { return layout_.block.shared(axis, upper); }
  bool shared(int axis) const { return layout_.block.shared(axis); }
  /// The first sample of the axis that the block owns: 1 where the sample on the lower side belongs to the neighbour.
  Index first_owned(int axis) const { return layout_.on_side[axis] && shared(axis, 0) ? 1 : 0; }

  /// Fills the ghosts beyond the shared sides of an axis, and the copy of a shared sample. `first` is the first element of the
  /// memory. Along the axes before `axis` ghosts take part (with `corners`), so that going through the axes in order also fills
  /// edges and corners; along later axes only the samples of the block itself are sure to be up to date.
  template <class T>
  void exchange(int axis, T* first) const {
    const HaloArray<D> array(*this, first);
    exchange_together(axis, {&array, 1});
  }
  /// All axes, in order; at once where no array has edges, corners or shared samples, which go from axis to axis.
  template <class T>
  void exchange(T* first) const {
    const HaloArray<D> array(*this, first);
    exchange_together({&array, 1});
  }

  /// The same for several arrays of one block, of any places and types, in one message for each side.
  static void exchange_together(int axis, std::span<const HaloArray<D>> arrays);
  static void exchange_together(std::span<const HaloArray<D>> arrays);

  /// The copies of an axis > 0 around which the block is its own neighbour, in one layer across axis 0.
  template <class T>
  void copy_in_plane(int axis, T* first, Index plane) const {
    if (!layout_.block.own_neighbour(axis)) return;
    const Lines& lines = axes_[axis].copy_lines;
    const Index per_plane = lines.count() / lines.extent[0];
    copy_lines(axis, reinterpret_cast<std::byte*>(first), sizeof(T), (plane - lines.begin[0]) * per_plane,
               (plane - lines.begin[0] + 1) * per_plane);
  }

 private:
  /// `count` layers of an axis that begin at the samples `from` and `to`.
  struct Copy {
    Index from, to, count;
  };
  /// Fixed capacity, so that copying a plan allocates nothing. An axis narrower than its ghosts needs a copy for every layer.
  struct Copies {
    std::array<Copy, 2 * max_ghost + 1> list{};
    std::size_t count = 0;
    const Copy* begin() const { return list.data(); }
    const Copy* end() const { return list.data() + count; }
  };
  /// Contiguous pieces of `run` elements in one layer of an axis: one for each index in a box over the axes. Axes that a piece
  /// runs along, and the axis itself, have extent 1.
  struct Lines {
    Coord<D> begin{}, extent{};
    Index run = 1;
    Index count() const { return product<D>(extent); }
  };
  /// Data sent across one side to or from another block.
  struct Crossing {
    Index send = 0, receive = 0;   ///< first layers
    Index sent = 0, received = 0;  ///< numbers of layers
  };
  struct Axis {
    Copies copies;
    Lines copy_lines, message_lines;
    std::array<Crossing, 2> sides{};
  };

  void plan_copies(int axis);
  void plan_messages(int axis);
  template <class Body>
  void for_each_line(const Lines& lines, Index begin, Index end, Body&& body) const;
  void poison(int axis, std::byte* first, std::size_t size) const;
  void copy_lines(int axis, std::byte* first, std::size_t size, Index begin, Index end) const;
  std::size_t message_bytes(int axis, Index layers, std::size_t size) const;
  template <class Move>
  std::byte* move_layers(int axis, std::byte* first, std::size_t size, Index layer, Index layers, std::byte* message,
                         Move&& move) const;
  /// One of the sides that are passed at once.
  struct PassedSide {
    int axis, upper;
  };
  static void exchange_axes(int begin, int end, std::span<const HaloArray<D>> arrays);
  static void pass_messages(std::span<const PassedSide> sides, std::span<const HaloArray<D>> arrays);

  HaloLayout<D> layout_;
  bool poisons_ = false;
  std::shared_ptr<Communicator> communicator_;
  std::array<Axis, D> axes_;
};

}  // namespace meniscus::parallel
