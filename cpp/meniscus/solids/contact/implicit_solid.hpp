/// A solid on a given path, as nodes of bodies meet it: distances, normals and velocities at points.
#pragma once

#include "meniscus/mesh/search/box.hpp"
#include "meniscus/solids/node_fields.hpp"

namespace meniscus::solids {

/// Times in s. Queries may come from any thread, one at a time.
class ImplicitSolid {
 public:
  /// Coefficient of friction, and whether position or velocity may change with time.
  ImplicitSolid(double friction, bool moves) : friction_(friction), moves_(moves) {}
  virtual ~ImplicitSolid() = default;

  double friction() const { return friction_; }
  bool moves() const { return moves_; }

  /// A box around what nodes stay out of; infinite where that is not bounded.
  virtual mesh::Box box(double time) const = 0;
  /// How far points are outside of it, m; negative inside.
  virtual void distances(ConstPoints x, double time, std::span<double> out) const = 0;
  /// Unit vectors out of it.
  virtual void normals(ConstPoints x, double time, Points out) const = 0;
  /// Mean velocities, m/s, in the dt seconds before a time, of what is at the points then.
  virtual void velocities(ConstPoints x, double time, double dt, Points out) const = 0;

 private:
  double friction_;
  bool moves_;
};

}  // namespace meniscus::solids
