/// Altitude springs: one spring for each tetrahedron, along the shortest of its seven altitudes, so that inverted and flattened
/// elements recover.
///
/// The candidates are the four altitudes from a vertex to the opposite face and the three between opposite edges. Of these, the
/// shortest (for which |u x v| of two vectors in its base is greatest, because its signed length is 6 V / |u x v|) meets its base
/// inside, so that no node gets an unbounded force. The length keeps its sign: an inverted element is pushed back through.
///
/// Source: Selle 2008, section 5.3.4 and theorem 1 (tetrahedra; shells as the tetrahedra that two triangles with a common edge
/// span), section 5.5 (frozen directions and weights).
#pragma once

#include "meniscus/solids/elements/element_gather.hpp"
#include "meniscus/solids/force.hpp"
#include "meniscus/solids/springs/spring_options.hpp"

#include <vector>

namespace meniscus::solids {

namespace altitudes {
struct Choices;
}

/// Four nodes.
using FourNodes = std::array<std::int32_t, 4>;

class AltitudeSprings final : public Force {
 public:
  /// Candidates 0 to 3 go from that vertex to the opposite face; 4, 5 and 6 between the edges (0,1 | 2,3), (1,2 | 0,3), (0,2 |
  /// 3,1).
  static constexpr std::size_t candidates = 7;
  /// From `on_a_line` on: candidates between edges, plus 3, whose nodes lie on a line. `none`: no spring.
  static constexpr std::int8_t on_a_line = 7;
  static constexpr std::int8_t none = -1;

  struct Parameters {
    std::span<const FourNodes> tets;
    /// Springs act only if compressed by more than this fraction; negative: always.
    double only_beyond;
    /// Edges shorter than this multiple of their rest length have collapsed, and elements whose |u x v| is at most this multiple
    /// of |u| |v| lie on a line.
    double collapsed_edge;
    double line_sine;
    /// Elements whose shortest altitude at rest is at most this multiple of their longest edge get no spring; unless it is 0,
    /// elements of negative volume are turned round.
    double flat;
  };

  /// Spring of an element: its length is the sum over the nodes of weight times position, along `direction`.
  struct Choice {
    mesh::Point direction = mesh::Point::Zero();
    std::array<double, 4> weight{};
    double length = 0;
    std::int8_t candidate = none;
  };

  /// `rest`: positions of the nodes in which every element has positive volume. Stiffness per length is that of the rest length
  /// of the candidate; critical damping that with the reduced mass of the virtual nodes.
  AltitudeSprings(const Parameters& parameters, const SpringOptions& options, std::span<const mesh::Point> rest);

  Index size() const { return static_cast<Index>(tets_.size()); }
  std::span<const FourNodes> tets() const { return tets_; }
  /// Rest lengths of the candidates, m; 0 for elements that are flat at rest.
  const std::array<double, candidates>& rest_lengths(Index tet) const { return rest_length_[tet]; }
  /// The springs of all elements at x, with weights that are not clamped.
  void choices(std::span<const mesh::Point> x, std::span<Choice> out) const;

  Index nodes() const override { return gather_.nodes(); }
  double energy(std::span<const mesh::Point> x) const override;
  void add_forces(std::span<const mesh::Point> x, std::span<mesh::Point> f) const override;
  void linearise(std::span<const mesh::Point> x, Tangent tangent) override;
  void add_differentials(std::span<const mesh::Point> dx, double scale, std::span<mesh::Point> f) const override;
  bool damped() const override { return damped_; }
  void add_damping(std::span<const mesh::Point> v, double scale, std::span<mesh::Point> f) const override;
  void add_diagonal(double stiffness_scale, double damping_scale, std::span<Block3> blocks) const override;
  void add_stiffness_bounds(std::span<const mesh::Point> x, std::span<double> stiffness) const override;
  void add_damping_bounds(std::span<const mesh::Point> x, std::span<double> damping) const override;
  DampingRatios damping_ratios(std::span<const mesh::Point> x) const override;
  double strain_rate(std::span<const mesh::Point> x, std::span<const mesh::Point> v) const override;
  /// Until `end_step`, every element keeps the altitude that it has at x, between points at rest in the element. The spring turns
  /// with these; only one that is inverted or nearly flat keeps its direction as well, so that it can pass through length 0.
  void begin_step(std::span<const mesh::Point> x, double dt) override;
  void end_step() override { in_step_ = false; }
  std::size_t nbytes() const override;

 private:
  /// Elements that a thread takes at a time.
  static constexpr Index chunk = 256;

  /// A spring at the positions of the last linearisation.
  struct Spring {
    std::array<double, 4> weight;
    mesh::Point direction;
    double stiffness;
    double tension;
    double damping;
    std::int8_t candidate;
    /// Stiffness across the spring in a step, N/m.
    double across = 0;
  };
  using Corners = std::array<mesh::Point, 4>;

  Corners corners(std::size_t tet, std::span<const mesh::Point> x) const;
  Choice choice_of_lane(std::size_t tet, const altitudes::Choices& of, std::size_t lane, std::span<const mesh::Point> x) const;
  /// Calls body(element, choice) for the elements [begin, end), one after the other.
  template <class Body>
  void for_choices(Index begin, Index end, std::span<const mesh::Point> x, Body&& body) const;
  /// Whether the spring of a step turns.
  bool turns(std::size_t tet) const;
  /// The spring of a step at other positions.
  Choice follow(std::size_t tet, std::span<const mesh::Point> x) const;
  /// Clamps the weights; false where the spring does nothing.
  bool activate(std::size_t tet, Choice& c) const;
  double rest_length(std::size_t tet, const Choice& c) const;
  double spring_constant(std::size_t tet, const Choice& c) const;
  double tension(std::size_t tet, const Choice& c) const;
  double damping(std::size_t tet, const Choice& c) const;
  std::array<mesh::Point, 4> geometric(std::size_t tet, const std::array<mesh::Point, 4>& dx) const;

  std::vector<FourNodes> tets_;
  std::vector<std::array<double, candidates>> rest_length_;
  /// Squared, of the edges 01, 02, 03, 12, 13, 23.
  std::vector<std::array<double, 6>> rest_edge_;
  std::vector<double> stiffness_;
  std::vector<double> damping_;
  std::vector<double> inverse_mass_;
  bool per_length_;
  double only_beyond_;
  double edge_tolerance_;
  double line_tolerance_;
  bool damped_;
  StressStrain law_;
  ElementGather<4> gather_;
  std::vector<mesh::Point> x_;
  std::vector<Spring> spring_;
  Tangent tangent_ = Tangent::exact;
  bool in_step_ = false;
  /// The spring at the start of the step, and its damping.
  std::vector<Choice> start_;
  std::vector<double> start_damping_;
  mutable std::vector<mesh::Point> contribution_;
};

}  // namespace meniscus::solids
