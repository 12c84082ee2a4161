/// Water that tetrahedra hand to their neighbours across faces, all at the same time: each source says what it would give, each
/// target takes what it has room for, and mixes it in a fixed order.
#pragma once

#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/tet_vof/tet_graph.hpp"
#include "meniscus/fluids/tet_vof/tet_water.hpp"

#include <atomic>
#include <vector>

namespace meniscus::fluids {

class Offers {
 public:
  static constexpr Index chunk = 512;

  explicit Offers(const TetGraph& graph)
      : graph_(graph), places_(static_cast<std::size_t>(graph.size()) + 1, 0), chosen_(graph.size(), 0) {}

  /// Begins with a list of sources, which has to stay until `end`.
  void begin(std::span<const std::int32_t> sources);
  void end();

  Index pieces() const { return (static_cast<Index>(sources_.size()) + chunk - 1) / chunk; }
  /// Asks for the memory that `set` needs if it offers something to a tetrahedron.
  void fetch(std::int32_t target) const { __builtin_prefetch(&chosen_[target], 1); }
  /// What source i would give across each face, m^3, and the velocity of its water; at most once before `take`. Without it, it
  /// gives nothing. Threads may call
  /// it at the same time for sources of different pieces of `chunk`.
  void set(Index i, const std::array<double, 4>& volumes, const mesh::Point& velocity);
  /// Whether source i has offered anything, and after `take` what was taken of it in all.
  bool offers(Index i) const { return offers_[i] != 0; }
  double taken(Index i) const {
    const auto& a = sources_of_[static_cast<std::size_t>(i) + 1].volume;
    return (a[0] + a[1]) + (a[2] + a[3]);
  }

  /// Lets each target take up to room(target), m^3; where more is offered, all sources get rid of the same part. The water of the
  /// sources themselves is not changed. Calls after(target, piece, taken) for each target, where `piece` is less
  /// than pieces().
  template <class Room, class After>
  void take(const TetWater& water, const Quantum& quantum, Room&& room, After&& after) {
    parallel_for(0, pieces(), 1, [&](Index piece, Index) {
      const std::vector<std::int32_t>& targets = targets_[piece];
      for (std::size_t i = 0; i < targets.size(); ++i) {
        fetch_sources(targets, i, water);
        const std::int32_t t = targets[i];
        chosen_[t] = 0;
        after(t, piece, hand_over(t, water, quantum, room(t)));
      }
    });
  }

  std::size_t nbytes() const;

 private:
  /// What a source offers across its faces, and later what is taken of it, m^3, and the velocity of its water, m/s: one line of
  /// memory, since targets ask for it in no order.
  struct alignas(64) Source {
    std::array<double, 4> volume{};
    mesh::Point velocity = mesh::Point::Zero();
  };
  bool choose(std::int32_t t);
  void fetch_sources(const std::vector<std::int32_t>& targets, std::size_t i, const TetWater& water) const;
  double hand_over(std::int32_t target, const TetWater& water, const Quantum& quantum, double room);

  const TetGraph& graph_;
  /// Where `sources_of_` has tetrahedron t is in place t + 1: 0, which offers nothing, for those that offer nothing; and for -1,
  /// which is beyond the boundary.
  std::vector<std::int32_t> places_;
  std::span<const std::int32_t> sources_;
  std::vector<Source> sources_of_;
  /// Whether a source offers anything.
  std::vector<std::uint8_t> offers_;
  /// Whether a tetrahedron is in a list of targets.
  std::vector<std::uint8_t> chosen_;
  /// What is offered something to first by the sources of a piece. Which piece that is may depend on threads.
  std::vector<std::vector<std::int32_t>> targets_;
};

}  // namespace meniscus::fluids
