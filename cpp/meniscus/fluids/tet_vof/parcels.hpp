/// Amounts of water on their way into tetrahedra, added in an order that does not depend on threads.
#pragma once

#include "meniscus/core/memory/slow_growth.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/workspace.hpp"
#include "meniscus/fluids/tet_vof/tet_water.hpp"

namespace meniscus::fluids {

/// Water that goes into a tetrahedron, m^3, with its velocity, m/s.
struct Parcel {
  double volume;
  mesh::Point velocity;
  std::int32_t target;
};

/// Parcels of one piece of a parallel loop; 16 bytes for each, since many have a velocity in common.
class ParcelList {
 public:
  /// Empties the list. `shared`: velocities that parcels may refer to; they have to stay until the parcels are added.
  void begin(std::span<const mesh::Point> shared) {
    shared_ = shared;
    parcels_.clear();
    own_.clear();
  }

  /// Appends water with a velocity of its own.
  void push_back(const Parcel& p) {
    if (own_.empty() || !(own_.back().array() == p.velocity.array()).all()) push_slowly(own_, p.velocity);
    push_slowly(parcels_, {p.volume, p.target, -static_cast<std::int32_t>(own_.size())});
  }
  /// Appends water with a velocity of the shared list.
  void push_shared(double volume, std::int32_t source, std::int32_t target) { push_slowly(parcels_, {volume, target, source}); }

  std::size_t size() const { return parcels_.size(); }
  std::int32_t target(std::size_t i) const { return parcels_[i].target; }
  double volume(std::size_t i) const { return parcels_[i].volume; }
  double& volume(std::size_t i) { return parcels_[i].volume; }
  const mesh::Point& velocity(std::size_t i) const {
    const std::int32_t source = parcels_[i].source;
    return source >= 0 ? shared_[source] : own_[-source - 1];
  }

  class Iterator {
   public:
    Iterator(const ParcelList& list, std::size_t i) : list_(list), i_(i) {}
    Parcel operator*() const { return {list_.volume(i_), list_.velocity(i_), list_.target(i_)}; }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return i_ != other.i_; }

   private:
    const ParcelList& list_;
    std::size_t i_;
  };
  Iterator begin() const { return {*this, 0}; }
  Iterator end() const { return {*this, size()}; }

  std::size_t nbytes() const { return parcels_.capacity() * sizeof(Packed) + own_.capacity() * sizeof(mesh::Point); }

 private:
  struct Packed {
    double volume;
    std::int32_t target;
    /// Place of the velocity in the shared list; or -1, -2, .. for those of the list's own.
    std::int32_t source;
  };
  std::span<const mesh::Point> shared_;
  std::vector<Packed> parcels_;
  std::vector<mesh::Point> own_;
};

/// Collected by pieces of a parallel loop, each of which has a number; then added all at once. Memory is kept.
class Parcels {
 public:
  /// Empties the pieces and sees to it that there are as many; `shared` as in `ParcelList`.
  void begin(Index pieces, std::span<const mesh::Point> shared = {}) {
    if (static_cast<Index>(pieces_.size()) < pieces) pieces_.resize(pieces);
    for (ParcelList& p : pieces_) p.begin(shared);
  }
  ParcelList& piece(Index i) { return pieces_[i]; }

  /// Adds all to the water, in the order of the pieces. What they hold stays until `begin`.
  void add_to(const TetWater& water, Workspace& workspace);

  std::size_t nbytes() const;

 private:
  void group(std::size_t buckets, Workspace& workspace);
  void add_few_to(const TetWater& water);

  std::vector<ParcelList> pieces_;
  /// Number of the first parcel of each piece, and of all.
  std::vector<std::uint32_t> first_;
  /// Numbers of parcels, by ranges of their targets, and where those of each range begin.
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> bucket_;
  /// Targets and numbers of few parcels.
  std::vector<std::uint64_t> keys_;
};

}  // namespace meniscus::fluids
