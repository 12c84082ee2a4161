/// Water that tetrahedra hand to their neighbours across faces, all at the same time: each source says what it would give, each
/// target takes what it has room for, and mixes it in a fixed order.
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/tet_vof/tet_graph.hpp"
#include "meniscus/fluids/tet_vof/tet_water.hpp"

#include <vector>

namespace meniscus::fluids {

class Offers {
 public:
  static constexpr Index chunk = 512;

  explicit Offers(const TetGraph& graph) : graph_(graph), places_(static_cast<std::size_t>(graph.size()), -1) {}

  /// Begins with a list of sources and the velocities that their water has now. The list has to stay until `end`.
  void begin(std::span<const std::int32_t> sources, std::span<const mesh::Point> velocities);
  void end();

  Index pieces() const { return (static_cast<Index>(sources_.size()) + chunk - 1) / chunk; }
  /// What source i would give across each face, m^3; to be set before each `take`, by `set`.
  void set(Index i, const std::array<double, 4>& volumes) {
    const auto s = static_cast<std::size_t>(i);
    const bool some = volumes[0] > 0 || volumes[1] > 0 || volumes[2] > 0 || volumes[3] > 0;
    if (!some && !offers_[s]) return;
    offers_[s] = some;
    offered_[s] = volumes;
    taken_[s] = {};
  }
  /// Whether source i has offered anything, and what was taken of it in all.
  bool offers(Index i) const { return offers_[static_cast<std::size_t>(i)] != 0; }
  double taken(Index i) const {
    const auto& a = taken_[static_cast<std::size_t>(i)];
    return (a[0] + a[1]) + (a[2] + a[3]);
  }

  /// Lets each target take up to room(target), m^3; where more is offered, all sources get rid of the same part. The water of the
  /// sources themselves is not changed. Calls after(target, piece) for each target, where `piece` is less than pieces().
  template <class Room, class After>
  void take(const TetWater& water, const Quantum& quantum, Room&& room, After&& after) {
    parallel_for(0, static_cast<Index>(sources_.size()), chunk, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) {
        if (!offers_[static_cast<std::size_t>(i)]) continue;
        for (std::size_t k = 0; k < 4; ++k) {
          if (!(offered_[static_cast<std::size_t>(i)][k] > 0)) continue;
          const std::int32_t target = graph_.neighbours(sources_[static_cast<std::size_t>(i)])[k];
          // One of the sources does it for all.
          if (!is_first(i, target)) continue;
          take_at(target, water, quantum, room(target));
          after(target, b / chunk);
        }
      }
    });
  }

  std::size_t nbytes() const {
    return places_.size() * 4 + velocities_.capacity() * 24 + (offered_.capacity() + taken_.capacity()) * 32;
  }

 private:
  struct Offer {
    double volume = 0;
    /// Place of the source, and the number of the face there.
    std::size_t place = 0, face = 0;
  };
  Offer offer_across(std::int32_t target, std::size_t face) const;
  bool is_first(Index i, std::int32_t target) const;
  void take_at(std::int32_t target, const TetWater& water, const Quantum& quantum, double room);

  const TetGraph& graph_;
  /// Place of a tetrahedron in the list of sources; -1 for all others.
  std::vector<std::int32_t> places_;
  std::span<const std::int32_t> sources_;
  std::vector<mesh::Point> velocities_;
  std::vector<std::array<double, 4>> offered_, taken_;
  /// Whether a source offers anything.
  std::vector<std::uint8_t> offers_;
};

}  // namespace meniscus::fluids
