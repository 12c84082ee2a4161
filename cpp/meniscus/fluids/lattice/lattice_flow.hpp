/// A lattice Boltzmann flow in lattice units: cells and steps have length 1, the density is 1 at rest, viscosity and
/// accelerations are those of such units.
#pragma once

#include "meniscus/fluids/lattice/collision.hpp"
#include "meniscus/fluids/lattice/sides.hpp"

#include <memory>
#include <span>
#include <vector>

namespace meniscus::fluids::lattice {

/// Names of the sets of velocities.
enum class LatticeSet : int { D2Q9, D3Q15, D3Q19, D3Q27 };

/// Scalars of stored populations.
enum class LatticeStorage : int { float64, float32, int16 };

/// In place, or from one copy to another.
enum class Streaming : int { in_place, two_lattices };

/// What has been seen by a step.
struct LatticeStepReport {
  double max_speed = 0.0;  ///< before the step
  bool refused = false;    ///< a speed was above the limit or no number
};

/// A flow of any set, storage and streaming.
class LatticeFlow {
 public:
  virtual ~LatticeFlow() = default;

  virtual int dimension() const = 0;
  virtual int directions() const = 0;
  virtual const std::vector<Index>& cells() const = 0;
  virtual std::vector<std::array<int, 3>> velocities() const = 0;
  virtual std::vector<double> weights() const = 0;
  virtual Index bytes() const = 0;

  /// Sides in order x-, x+, y-, ...; as many as there are.
  virtual Side& side(int number) = 0;
  virtual LatticeStepReport step(const CollisionRule& rule) = 0;

  /// f - w of all cells, direction by direction, as arrived before the next step.
  virtual void read(double* out) const = 0;
  virtual void write(const double* values) = 0;
  /// The stored numbers, bit by bit.
  virtual void save(std::byte* out) const = 0;
  virtual void restore(const std::byte* saved) = 0;
  virtual Index saved_bytes() const = 0;

  /// Density less 1, and velocity component by component; nothing is written to null. Cells in solids have 0.
  virtual void moments(const CollisionRule& rule, double* density, double* velocity) const = 0;
  /// Norm of the strain rate of each cell from the populations, and the viscosity with that of eddies.
  virtual void strain(const CollisionRule& rule, double* norm, double* viscosity) const = 0;
  /// Sets the populations of all cells to the equilibrium of a density less 1 and a velocity, with what the strain adds if
  /// `gradients` (component by component, du_a / dx_b) are given.
  virtual void set_moments(const CollisionRule& rule, const double* density, const double* velocity, const double* gradients) = 0;
  /// Goes over to steps `ratio` times as long, whose rule is `after`.
  virtual void rescale(const CollisionRule& before, const CollisionRule& after, double ratio) = 0;
  /// Sum of the density less 1, and of the momentum, over all fluid cells.
  virtual std::array<double, 4> totals() const = 0;
  /// A new set of solid cells: those of boxes [lower, upper) whose distance (C-ordered) is not above 0; then the links to them,
  /// whose number is returned.
  virtual void begin_solids() = 0;
  virtual void add_solid_cells(const Index* lower, const Index* upper, const double* distance) = 0;
  virtual Index find_links() = 0;
  virtual Index link_count() const = 0;
  /// Points (n, dimension) of the links at a fraction of them, or at the present one if that is negative; in cells from the lower
  /// corner.
  virtual void link_points(double fraction, double* out) const = 0;
  /// Distances at fractions 0 or 1, then at the present ones, until these are where the distance is 0.
  virtual void set_link_ends(const double* distance, bool solid) = 0;
  virtual void narrow_links(const double* distance) = 0;
  /// Velocities (n, dimension) of the walls and numbers of the solids, or null.
  virtual void prepare_links(const double* velocities, const std::int32_t* owners, bool interpolated) = 0;
  /// Momentum (n, dimension) that each link handed to its solid in the last step.
  virtual void link_forces(double* out) const = 0;
  /// The cells that the last set has covered, or uncovered: their centres, their density and momentum (n, 1 + dimension); and
  /// what fills those that were uncovered, moving with given velocities at the mean density of the fluid around.
  virtual Index changed_count(bool covered) const = 0;
  virtual void changed_points(bool covered, double* out) const = 0;
  virtual void changed_contents(bool covered, double* out) const = 0;
  virtual void fill_uncovered(const double* velocities) = 0;

  /// What the next step needs beside the populations: the leak of the last, and density and speed of each cell of outflows.
  virtual std::vector<double> memory() const = 0;
  virtual void set_memory(std::span<const double> values) = 0;
};

std::unique_ptr<LatticeFlow> make_lattice_flow(LatticeSet set, LatticeStorage storage, Streaming streaming,
                                               std::span<const Index> cells, double unit);

}  // namespace meniscus::fluids::lattice
