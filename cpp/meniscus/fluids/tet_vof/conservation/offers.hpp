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
  /// What source i would give across each face, m^3; at most once before `take`. Without it, it gives nothing.
  void set(Index i, const std::array<double, 4>& volumes) {
    const auto s = static_cast<std::size_t>(i);
    sources_of_[s].offered = volumes;
    offers_[s] = volumes[0] > 0 || volumes[1] > 0 || volumes[2] > 0 || volumes[3] > 0;
  }
  /// Whether source i has offered anything, and what was taken of it in all.
  bool offers(Index i) const { return offers_[static_cast<std::size_t>(i)] != 0; }
  double taken(Index i) const {
    const auto& a = sources_of_[static_cast<std::size_t>(i)].taken;
    return (a[0] + a[1]) + (a[2] + a[3]);
  }

  /// Lets each target take up to room(target), m^3; where more is offered, all sources get rid of the same part. The water of the
  /// sources themselves is not changed. Calls after(target, piece, taken) for each target, where `piece` is less
  /// than pieces().
  template <class Room, class After>
  void take(const TetWater& water, const Quantum& quantum, Room&& room, After&& after) {
    parallel_for(0, static_cast<Index>(sources_.size()), chunk, [&](Index b, Index e) {
      for (Index i = b; i < e; ++i) {
        fetch_sources(i, e);
        if (!offers(i)) continue;
        const std::int32_t source = sources_[static_cast<std::size_t>(i)];
        for (std::size_t k = 0; k < 4; ++k) {
          if (!(sources_of_[static_cast<std::size_t>(i)].offered[k] > 0)) continue;
          const std::int32_t target = graph_.neighbours(source)[k];
          Taken taken;
          // The source across the first of the faces does it for all.
          if (!gather(target, graph_.back_face(source, k), taken)) continue;
          const double v = hand_over(target, taken, water, quantum, room(target));
          after(target, b / chunk, v);
        }
      }
    });
  }

  std::size_t nbytes() const { return places_.size() * 4 + sources_of_.capacity() * (sizeof(Source) + 1); }

 private:
  /// What a source offers and gives across its faces, m^3, and the velocity of its water, m/s.
  struct Source {
    std::array<double, 4> offered, taken;
    mesh::Point velocity;
  };
  /// What is offered to a target across its faces, and by which source: its place, and the face there.
  struct Taken {
    std::array<double, 4> volume{};
    std::array<std::size_t, 4> place{}, face{};
  };
  void fetch_sources(Index i, Index end) const;
  bool gather(std::int32_t target, std::size_t face, Taken& taken) const;
  double hand_over(std::int32_t target, const Taken& taken, const TetWater& water, const Quantum& quantum, double room);

  const TetGraph& graph_;
  /// Place of a tetrahedron in the list of sources; -1 for all others.
  std::vector<std::int32_t> places_;
  std::span<const std::int32_t> sources_;
  std::vector<Source> sources_of_;
  /// Whether a source offers anything.
  std::vector<std::uint8_t> offers_;
};

}  // namespace meniscus::fluids
