/// Solids as the pressure of a fluid sees them: velocities that impulses on the nodes of their sheets cause.
///
/// With S = S0 + J^T m J, where S0 is what the solid's own implicit step inverts (masses, damping and stiffness), and the second
/// part is the fluid up to the sheet, which moves with it.
#pragma once

#include "meniscus/coupling/shell_pressure/sheet_sides.hpp"
#include "meniscus/fluids/pressure/solid_impulses.hpp"

namespace meniscus::coupling {

class ShellSolid : public fluids::SolidResponse {
 public:
  virtual Index nodes() const = 0;
  Index velocities() const override { return 3 * nodes(); }

  /// Takes the fluid that moves with the solid; `first` is the number of its first node among those of all sheets.
  virtual void attach(std::span<const SheetSide> sides, Index first) = 0;

  /// v = S^-1 f for impulses f, N s, on the nodes. Returns the iterations that it took.
  virtual int respond(std::span<const mesh::Point> f, std::span<mesh::Point> v) = 0;
  /// The same by components, three for each node.
  int respond(std::span<const double> f, std::span<double> v) override {
    static_assert(sizeof(mesh::Point) == 3 * sizeof(double));
    return respond(std::span<const mesh::Point>{reinterpret_cast<const mesh::Point*>(f.data()), f.size() / 3},
                   std::span<mesh::Point>{reinterpret_cast<mesh::Point*>(v.data()), v.size() / 3});
  }

  /// Relative tolerance of `respond`, where it iterates.
  virtual void set_tolerance(double) {}
  /// The largest relative residual of all responses since the last `set_tolerance`.
  virtual double largest_residual() const { return 0; }
};

/// A solid that follows its path whatever the fluid does.
class KinematicSolid final : public ShellSolid {
 public:
  explicit KinematicSolid(Index nodes) : nodes_(nodes) {}
  Index nodes() const override { return nodes_; }
  void attach(std::span<const SheetSide>, Index) override {}
  using ShellSolid::respond;
  int respond(std::span<const mesh::Point>, std::span<mesh::Point> v) override {
    for (mesh::Point& u : v) u.setZero();
    return 0;
  }

 private:
  Index nodes_;
};

}  // namespace meniscus::coupling
