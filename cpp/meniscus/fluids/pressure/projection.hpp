/// Pressure projection: makes a staggered velocity divergence-free around solids, below free surfaces and in enclosed regions.
///
/// Finite volumes on cut cells: a face with open fraction a carries the flux a u + (1 - a) u_solid, with the solid's velocity at
/// the centroid of the closed part, so that moving solids push the fluid and those that move along themselves do not, and
/// pressures live in cell centres throughout (second order up to the wall). Air is a Dirichlet condition, at the distance of the
/// free surface (ghost fluid), or a fluid of its own density in the same system. The pressure's conditions on the sides of the
/// domain follow from the velocity's: given normal velocity on walls and prescribed sides, given pressure on open ones, and
/// pressure zero on sides with no gradient.
///
/// Sources: Selle 2008, sections 2.9, 3.2 and 4.4.2; Mueller et al. 2008, section 10; Guendelman et al. 2005, section 4.3
/// (regions).
#pragma once

#include "meniscus/fluids/pressure/coupled_poisson.hpp"
#include "meniscus/fluids/pressure/free_surface.hpp"
#include "meniscus/fluids/pressure/pressure_problem.hpp"
#include "meniscus/grid/poisson/poisson_solver.hpp"

namespace meniscus::fluids {

/// Correction of a net flux through the walls of a closed region, which no incompressible flow can satisfy.
enum class FluxCorrection {
  volume,  ///< the whole region takes it, evenly: the divergence of its fluid becomes the same small number everywhere
  walls,   ///< the cells at its walls take it, in proportion to the wall's area, as if the wall moved a little differently
};

struct ProjectionOptions {
  numerics::SolveOptions solve;
  FluxCorrection flux_correction = FluxCorrection::volume;
  /// Change the velocity even where the tolerance was not met.
  bool accept_unconverged = false;
};

template <int D>
struct RegionReport {
  Index cells = 0;
  bool closed = false;
  Coord<D> first_cell{};
  /// Net flux out of a closed region through its walls, minus that of the target divergence: m^3/s (m^2/s in 2-D).
  double flux = 0.0;
  /// Residual of the region relative to the whole right-hand side.
  double residual = 0.0;
};

template <int D>
struct ProjectionReport {
  numerics::SolveInfo solve;
  /// Seconds spent on the matrix and its multigrid levels; zero where nothing has changed since the last call.
  double setup_seconds = 0.0;
  std::vector<RegionReport<D>> regions;
};

/// Holds the matrix, its multigrid levels and all scratch memory between projections on one grid. A repeated projection allocates
/// nothing, and with unchanged surroundings reuses the matrix. On a domain that is cut into blocks, all calls are collective; the
/// result, the iterations and the report are those of one block with order-free sums, bit by bit.
template <int D>
class PressureSolver {
 public:
  explicit PressureSolver(const grid::Grid<D>& grid);

  const grid::Grid<D>& grid() const { return grid_; }
  Index bytes() const;

  /// Replaces the velocity by its divergence-free part; throws InvalidArgument for values that are not finite or densities that
  /// are not positive. On any error, and where the solve fails and is not accepted, the velocity and the pressure keep their
  /// values.
  template <class T>
  void project(grid::MacField<T, D>& velocity, double dt, const PressureProblem<T, D>& problem, const ProjectionOptions& options,
               ProjectionReport<D>& report);

  /// The divergence of the flux through the open parts of the faces and of the solid through the rest, 1/s per volume of cell.
  /// `solid` may be null; ghosts of its velocity are filled.
  template <class T>
  void divergence(const grid::MacField<T, D>& velocity, grid::SolidBoundary<T, D>* solid, grid::Field<T, D>& out);

 private:
  enum class SideKind { given, open, shared };

  /// A mask in the layout of the matrix, zero when it is new.
  void fit(Block<std::uint8_t>& mask) const;
  template <class T>
  void copy_cells(const grid::Field<T, D>& field, Block<double>& to) const;
  template <class T>
  bool describe(const grid::MacField<T, D>& velocity, const PressureProblem<T, D>& problem);
  template <class T>
  void set_liquid(const PressureProblem<T, D>& problem);
  /// Closes outlets to the air at the pressure of the air that are too narrow: they would let out, at any speed, what a moving
  /// solid or an impact displaces. A cell with its centre in the solid has outlets across the wall only, where the centre of the
  /// face is outside and water stands on the wall. Elsewhere the surface in it is a mere continuation, which does not hold up
  /// water at rest: errors of rounding double every second. Such a cell is also liquid where the cells outside are liquid on
  /// average but the surface passes below its centre: then all of its outlets are closed, so that its pressure at rest is the
  /// hydrostatic one. What is left lets the ends of thin films leave cells and enter them.
  void close_outlets(const grid::Field<double, D>& solid);
  template <class T>
  void set_given(const PressureProblem<T, D>& problem);
  template <class T>
  void set_reference_density(const PressureProblem<T, D>& problem);
  template <class T>
  bool set_matrix(const PressureProblem<T, D>& problem);
  /// Marks all rows of a matrix that has been laid out anew; returns whether anything has changed.
  bool mark_fresh(bool changed, bool fresh);
  template <class T>
  void set_dirichlet(const grid::Boundary<D>& boundary, const PressureProblem<T, D>& problem, double scale);
  /// The pressure given on the face between a liquid cell and air (or a side of the domain), in the units of the solve.
  double given_pressure(Index liquid, Index air, bool on_side) const {
    if (!has_dirichlet_) return 0.0;
    return dirichlet_[air] + (has_surface_ && !on_side ? surface_jump(liquid, air) : 0.0);
  }
  /// Excess of the pressure in the liquid at the surface between a liquid cell and air, in the units of the solve.
  double surface_jump(Index liquid, Index air) const {
    const double theta = has_phi_ ? distance_to_surface<double>(phi_[liquid], phi_[air]) : 1.0;
    return (1 - theta) * surface_[liquid] + theta * surface_[air];
  }
  /// Excess of the pressure in one cell over that in the next where both are solved for: nonzero at the surface alone.
  double jump_between_solved(Index cell, Index beside) const {
    const auto& active = poisson_.matrix.active;
    if (!has_surface_ || !has_solved_air_ || !active[cell] || !active[beside] || liquid_[cell] == liquid_[beside]) return 0.0;
    return liquid_[beside] == solved_air ? surface_jump(cell, beside) : -surface_jump(beside, cell);
  }
  template <class T>
  void set_right_hand_side(const std::array<const T*, D>& faces, const grid::MacField<T, D>& velocity,
                           const PressureProblem<T, D>& problem, const Vec<double, D>& gain);
  /// Pressures given at faces, and jumps of the pressure at the surface.
  void add_given_pressures_to_right_hand_side();
  /// Corrects the net fluxes of closed regions that no body can take up, but for those that `poisson_` distributes evenly over
  /// their cells, and sets the reports of the regions; returns a bound on the norm of what that has subtracted from the
  /// right-hand side.
  double balance(FluxCorrection fix, bool bodies, ProjectionReport<D>& report);
  template <class Weight>
  double subtract(const std::vector<double>& excess, const Weight& weight);
  double wall_area(Index cell) const;
  /// The part of a cell that a solid leaves open: of its volume, but no more than its faces, lest slits carry what it takes.
  double fluid_part(Index cell) const;
  /// Adds to the unknowns of all regions that are not closed, where the pressure is known not only up to a constant.
  void add_in_open_regions(double value);
  template <class T>
  void apply(const std::array<const T*, D>& faces, grid::MacField<T, D>& velocity, const PressureProblem<T, D>& problem,
             const Vec<double, D>& gain);
  /// Opens faces along films between solids that touch.
  void open_films(const std::array<const std::uint8_t*, D>& films);
  /// Rows of the bodies that the pressure moves, with the fluid at their surface, for a solve over dt (body_rows.cpp).
  template <class T>
  void set_bodies(const PressureProblem<T, D>& problem, double dt);
  template <class T>
  void set_volume_rows(const PressureProblem<T, D>& problem);
  template <class T>
  void attach_fluid(const PressureProblem<T, D>& problem, double dt);
  double kept_by_outlet(const Coord<D>& face, Index upper, int axis, double part) const;
  /// Takes from the velocity of the solid what bodies that deform have, whose own rows have it.
  template <class T>
  void stop_soft_walls(const PressureProblem<T, D>& problem);
  /// Whether a cell is not air (inside of solids too: the faces tell what is solid).
  bool is_liquid(Index cell) const { return !has_liquid_ || liquid_[cell] != 0; }
  double face_coefficient(int axis, Index face, int side) const;

  grid::Grid<D> grid_;
  grid::CellLayout<D> layout_;
  grid::PoissonSolver<D> poisson_;
  std::array<SideKind, 2 * D> sides_{};
  std::array<double, 2 * D> side_coefficient_{};
  /// Rows of the matrix that differ from those that the solver was prepared for.
  grid::RowChanges<D> changes_;
  bool has_solid_ = false, has_liquid_ = false, has_phi_ = false, has_dirichlet_ = false, has_surface_ = false, prepared_ = false;
  std::array<Block<double>, D> open_;
  /// Of the solid, within a call.
  grid::FieldView<const double, D> solid_nodes_;
  /// Zero in air; `solved_air` where its pressure is solved for.
  Block<std::uint8_t> liquid_;
  static constexpr std::uint8_t solved_air = 2;
  bool has_solved_air_ = false;
  /// Cells whose centres lie in the solid.
  Block<std::uint8_t> inside_;
  bool has_given_ = false;
  std::array<Block<std::uint8_t>, D> given_;
  /// Density and liquid level set, in the layout of the matrix.
  Block<double> density_, phi_;
  /// Given pressures in excess of that of the air, in the units of the solve, in air cells and ghosts; the jump at the free
  /// surface, in all cells.
  Block<double> dirichlet_, surface_;
  double reference_density_ = 1.0;
  VolumeRows body_rows_;
  CoupledPoisson<D> coupled_;
  /// Bodies that liquid with an outlet, or air, touches.
  std::vector<std::uint8_t> body_outlets_;
  std::vector<double> body_impulses_;
  std::vector<double> sums_, weights_;
  Workspace workspace_;
};

}  // namespace meniscus::fluids
