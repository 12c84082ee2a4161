/// Solids that yield to a pressure: volumes that their velocities drive out of cells, and their answer to the impulses of the
/// pressure, which are the exact adjoint.
///
/// With rows B (one velocity of a solid is a column) and the inverse S^-1 of what the solids' own step inverts, the pressure of
/// a fluid and the velocities of the solids in it are one symmetric system,
///
///   (L + B S^-1 B^T) p = -(divergence with the velocity of the solids without p),      v = v0 + S^-1 B^T p.
///
/// Thin shells (coupling/shell_pressure) and thick bodies (moving_bodies.hpp) fill such rows.
///
/// Source: Guendelman et al. 2005, section 5.1, in the symmetric form of Batty, Bertails and Bridson 2007, section 4.
#pragma once

#include "meniscus/core/types.hpp"

#include <Eigen/Core>

#include <cstdint>
#include <span>
#include <vector>

namespace meniscus::fluids {

/// Velocity of a point, m/s, and angular velocity, rad/s; or impulses of these, N s and N m s.
using Vector6 = Eigen::Matrix<double, 6, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;

/// Sparse rows: what unit velocities drive out of a cell. Several rows may belong to one cell.
class VolumeRows {
 public:
  VolumeRows() { clear(); }

  void clear();
  /// Begins the row of a cell, numbered by its place in the pressure.
  void begin_row(Index cell);
  /// Adds an entry to the row that was begun last; zeros are left out.
  void add(std::int32_t velocity, double value);

  /// f = scale B^T p.
  void gather(const double* p, double scale, std::span<double> f) const;
  /// q += B v.
  void scatter(std::span<const double> v, double* q) const;

  /// Calls body(cell, velocity, value) for all entries, row by row.
  template <class Body>
  void visit(Body&& body) const {
    Index entry = 0;
    for (std::size_t row = 0; row < cell_.size(); ++row)
      for (; entry < end_[row]; ++entry) body(cell_[row], velocity_[entry], value_[entry]);
  }

  Index rows() const { return static_cast<Index>(cell_.size()); }
  Index bytes() const;

 private:
  std::vector<Index> cell_, end_;
  std::vector<std::int32_t> velocity_;
  std::vector<double> value_;
};

/// What the own step of solids inverts.
class SolidResponse {
 public:
  virtual ~SolidResponse() = default;
  virtual Index velocities() const = 0;
  /// v = S^-1 f; returns the iterations that it took.
  virtual int respond(std::span<const double> f, std::span<double> v) = 0;
  /// Entry of the diagonal of S^-1, or less: with all other velocities held.
  virtual double yield_alone(Index) const { return 0; }
};

/// Bodies with rigid motions, which light ones follow whatever else they do.
class BodyResponse : public SolidResponse {
 public:
  virtual Index count() const = 0;
  /// The body to which a velocity belongs.
  virtual std::int32_t body_of(Index velocity) const = 0;
  /// What a velocity is under unit rigid motions of its body.
  virtual Vector6 mode(Index velocity) const = 0;
  /// Rigid motion k of a body for a unit impulse of it.
  virtual double mobility(Index body, int k) = 0;
};

}  // namespace meniscus::fluids
