/// Halo exchange: fills ghost samples from the blocks that own them.
///
/// The plan is made once for a decomposition and executed for every field with that layout. With one rank, the only neighbour of
/// a block is the block itself across a periodic side, and a transfer is a copy in memory. Callers need not know which of these
/// happens.
#pragma once

#include "meniscus/core/types.hpp"

namespace meniscus::parallel {

/// The layout of one padded block: `owned` samples an axis, `ghost` layers on each side.
template <int D>
struct HaloLayout {
  Coord<D> owned{};
  int ghost = 0;
  /// Number of distinct samples of a periodic axis, 0 where the axis is not periodic. It is owned - 1 for samples on the sides
  /// (the first and last are the same unknown, which the lower block owns), else owned.
  Coord<D> period{};
};

template <int D>
class HaloPlan {
 public:
  static constexpr int max_ghost = 8;
  HaloPlan() = default;
  explicit HaloPlan(const HaloLayout<D>& layout);

  /// Fills the ghosts of `axis` (and the copy of a shared first sample). `first` points at the start of the padded block, which
  /// is contiguous and C-ordered. Along the axes before `axis` ghosts are included, so that going through the axes in order also
  /// fills edges and corners; along later axes only owned samples are touched.
  template <class T>
  void exchange(int axis, T* first) const;

  /// Whether the sides of the axis belong to a neighbour (here: to a periodic image), not to the boundary of the domain.
  bool shared(int axis) const { return layout_.period[axis] > 0; }

 private:
  /// `count` layers along an axis, starting at padded positions `from` and `to`.
  struct Transfer {
    Index from, to, count;
  };
  /// Fixed capacity, so that copying a plan allocates nothing. An axis narrower than its ghosts needs a transfer for every layer.
  struct Transfers {
    std::array<Transfer, 2 * max_ghost + 1> list{};
    std::size_t count = 0;
    const Transfer* begin() const { return list.data(); }
    const Transfer* end() const { return list.data() + count; }
  };
  HaloLayout<D> layout_;
  std::array<Transfers, D> transfers_;
};

}  // namespace meniscus::parallel
