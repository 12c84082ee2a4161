#include "meniscus/coupling/shell_pressure/shell_system.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/numerics/conjugate_gradients.hpp"

#include <chrono>

namespace meniscus::coupling {

namespace {

/// Squares of fluxes below this share of those without cancellation are rounding errors.
constexpr double rounding = 1e-22;

}  // namespace

template <int D>
ShellSystem<D>::ShellSystem(const grid::Grid<D>& grid) : poisson_(grid) {
  static_assert(numerics::LinearSystem<ShellSystem<D>>);
  require(!poisson_.layout().halo.block().cut(), "shells need a grid that is not cut into blocks");
}

template <int D>
Index ShellSystem<D>::place(Index cell) const {
  if (cell < 0) return -1;
  const grid::CellLayout<D>& layout = poisson_.layout();
  Coord<D> c{};
  for (std::size_t d = D; d-- > 0; cell /= layout.cells[d]) c[d] = cell % layout.cells[d];
  return layout.index(c);
}

template <int D>
bool ShellSystem<D>::prepare(const Faces& fluid, const Faces& linked, const std::uint8_t* active, std::vector<SheetSide> sides,
                             std::vector<CutFace> cuts, std::vector<std::shared_ptr<ShellSolid>> solids) {
  Index nodes = 0;
  for (const auto& solid : solids) nodes += solid->nodes();
  const Index cells = poisson_.layout().count();
  require_valid(sides, D, cells, nodes);
  require(sides.size() == 2 * cuts.size(), "each cut face must have two sides, one after the other");
  for (const CutFace& cut : cuts)
    require(cut.lower >= -1 && cut.lower < cells && cut.upper >= -1 && cut.upper < cells && cut.link >= 0,
            "cut faces must lie between cells of the grid and have links that are not negative");
  if (!poisson_.set_coefficients(linked, active)) return false;
  sides_ = std::move(sides);
  cuts_ = std::move(cuts);
  solids_ = std::move(solids);
  node_count_ = nodes;
  forces_.assign(nodes, mesh::Point::Zero());
  velocities_.assign(nodes, mesh::Point::Zero());
  rows_.clear();
  for (const SheetSide& side : sides_) {
    if (side.cell < 0) continue;
    rows_.begin_row(place(side.cell));
    for (std::size_t k = 0; k < 3; ++k) rows_.add(3 * side.nodes[k] + side.axis, side.sign * side.area * side.weights[k]);
  }
  cut_place_.clear();
  for (const CutFace& cut : cuts_) cut_place_.push_back({place(cut.lower), place(cut.upper)});
  Index first = 0;
  for (const auto& solid : solids_) {
    solid->attach(sides_, first);
    first += solid->nodes();
  }
  const Index n = poisson_.layout().size;
  for (Block<double>* v : {&x_, &b_, &r_, &p_, &q_, &z_}) {
    if (v->size() != n) *v = Block<double>(n);
    std::fill(v->begin(), v->end(), 0.0);
  }
  grid::find_closed_regions<D>(poisson_.layout(), fluid, active, regions_);
  find_levels();
  return true;
}

template <int D>
void ShellSystem<D>::respond(std::span<const mesh::Point> f, std::span<mesh::Point> v) {
  std::size_t first = 0;
  for (const auto& solid : solids_) {
    const Index n = solid->nodes();
    inner_iterations_ += solid->respond(f.subspan(first, n), v.subspan(first, n));
    first += n;
  }
}

template <int D>
void ShellSystem<D>::side_velocities(std::span<const mesh::Point> v, std::span<double> out) const {
  for (std::size_t s = 0; s < sides_.size(); ++s) out[s] = sides_[s].velocity(v);
}

template <int D>
void ShellSystem<D>::gather_impulses(std::span<const double> values, std::span<mesh::Point> f) const {
  for (mesh::Point& u : f) u.setZero();
  for (std::size_t s = 0; s < sides_.size(); ++s) sides_[s].add_impulse(values[s], f);
}

template <int D>
void ShellSystem<D>::multiply(Vector& p, Vector& q) {
  apply(p, q);
  // Two layers between the same two centres may let a pressure without outlet act on them.
  project(q);
}

template <int D>
void ShellSystem<D>::apply(Vector& p, Vector& q) {
  poisson_.solver().multiply(p, q);
  // The matrix of the preconditioner has links in place of solids.
  for (std::size_t k = 0; k < cuts_.size(); ++k) {
    const auto [lower, upper] = cut_place_[k];
    const double flux = cuts_[k].link * ((lower >= 0 ? p[lower] : 0.0) - (upper >= 0 ? p[upper] : 0.0));
    if (lower >= 0) q[lower] -= flux;
    if (upper >= 0) q[upper] += flux;
  }
  if (sides_.empty()) return;
  const std::span<double> f{forces_.data()->data(), 3 * forces_.size()}, v{velocities_.data()->data(), 3 * velocities_.size()};
  rows_.gather(p.data(), 1.0, f);
  respond(std::span<const double>(f), v);
  rows_.scatter(v, q.data());
}

template <int D>
int ShellSystem<D>::respond(std::span<const double> f, std::span<double> v) {
  static_assert(sizeof(mesh::Point) == 3 * sizeof(double));
  const Index before = inner_iterations_;
  respond(std::span<const mesh::Point>{reinterpret_cast<const mesh::Point*>(f.data()), f.size() / 3},
          std::span<mesh::Point>{reinterpret_cast<mesh::Point*>(v.data()), v.size() / 3});
  return static_cast<int>(inner_iterations_ - before);
}

template <int D>
void ShellSystem<D>::region_sums(const Vector& v, Eigen::VectorXd& sums) const {
  const grid::CellLayout<D>& layout = poisson_.layout();
  const Index length = layout.cells[D - 1];
  sums.setZero(regions_.count());
  for (Index r = 0; r < layout.rows(); ++r) {
    const double* from = v.data() + layout.row(r);
    const std::int32_t* label = regions_.label.data() + dot<D>(layout.row_coordinate(r), c_strides<D>(layout.cells));
    for (Index k = 0; k < length; ++k)
      if (label[k] >= 0) sums[label[k]] += from[k];
  }
}

template <int D>
void ShellSystem<D>::add_to_regions(const Eigen::VectorXd& values, Vector& v) const {
  const grid::CellLayout<D>& layout = poisson_.layout();
  const Index length = layout.cells[D - 1];
  parallel_for(0, layout.rows(), std::max<Index>(1, 8192 / length), [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) {
      double* to = v.data() + layout.row(r);
      const std::int32_t* label = regions_.label.data() + dot<D>(layout.row_coordinate(r), c_strides<D>(layout.cells));
      for (Index k = 0; k < length; ++k)
        if (label[k] >= 0) to[k] += values[label[k]];
    }
  });
}

template <int D>
double ShellSystem<D>::fill_gram(Eigen::MatrixXd& gram, bool layers_together) {
  const Index n = regions_.count();
  gram.setZero(n, n);
  double scale = 0;
  const auto label = [&](const SheetSide& side) { return side.cell < 0 ? std::int32_t{-1} : regions_.label[side.cell]; };
  // The part of a side's pressure that its own layer gets; the rest is for the layer that the other cell of the face sees.
  const auto own = [&](std::size_t s) { return layers_together && sides_[s ^ 1].cell >= 0 ? 0.5 : 1.0; };
  for (Index region = 0; region < n; ++region) {
    // With cancellation between sides, and without: what rounding errors are relative to.
    for (const bool cancelling : {true, false}) {
      for (mesh::Point& u : forces_) u.setZero();
      for (std::size_t s = 0; s < sides_.size(); ++s) {
        if (label(sides_[s]) != region) continue;
        const double push = (cancelling ? sides_[s].sign : 1.0) * sides_[s].area;
        sides_[s].add_impulse(own(s) * push, forces());
        if (own(s) < 1) sides_[s ^ 1].add_impulse((1 - own(s)) * push, forces());
      }
      respond(forces(), node_velocities());
      double sum = 0;
      for (std::size_t s = 0; s < sides_.size(); ++s) {
        const std::int32_t to = label(sides_[s]);
        if (to < 0) continue;
        double v = own(s) * sides_[s].velocity(node_velocities());
        if (own(s) < 1) v += (1 - own(s)) * sides_[s ^ 1].velocity(node_velocities());
        if (cancelling)
          gram(to, region) += sides_[s].sign * sides_[s].area * v;
        else if (to == region)
          sum += sides_[s].area * v;
      }
      scale = std::max(scale, sum / static_cast<double>(regions_.cells[region]));
    }
  }
  gram = (0.5 * (gram + gram.transpose())).eval();
  return scale;
}

template <int D>
void ShellSystem<D>::find_levels() {
  const Index n = regions_.count();
  levels_.clear();
  if (n == 0) return;
  for (const auto& solid : solids_) solid->set_tolerance(1e-14);
  const auto cells = Eigen::Map<const Eigen::Matrix<Index, Eigen::Dynamic, 1>>(regions_.cells.data(), n).template cast<double>();
  std::array<fluids::RegionGram, 2> grams;
  for (const bool layers_together : {true, false}) {
    fluids::RegionGram& gram = grams[layers_together ? 0 : 1];
    const double scale = fill_gram(gram.volumes, layers_together);
    const double largest = gram.volumes.diagonal().cwiseQuotient(cells).maxCoeff();
    gram.scale = std::max(largest, rounding / fluids::RegionLevels::least_determined * scale) * cells;
  }
  levels_.find(grams, regions_.cells);
}

template <int D>
void ShellSystem<D>::project(Vector& v) const {
  if (null_vectors() == 0) return;
  region_sums(v, sums_);
  add_to_regions(-levels_.free_part(sums_), v);
}

template <int D>
void ShellSystem<D>::precondition(const Vector& r, Correction& z) {
  auto& solver = poisson_.solver();
  solver.precondition(r, solver.hierarchy().correction());
  solver.combine(1.0, std::as_const(solver.hierarchy().correction()), 0.0, z);
  if (regions_.count() > 0) {
    region_sums(r, sums_);
    add_to_regions((levels_.coarse() * sums_).eval(), z);
    project(z);
  }
}

template <int D>
void ShellSystem<D>::solve(const double* rhs, double* x, const numerics::SolveOptions& options, numerics::SolveInfo& info,
                           ShellSolveReport& report) {
  const auto start = std::chrono::steady_clock::now();
  const grid::CellLayout<D>& layout = poisson_.layout();
  const auto& active = poisson_.solver().matrix.active;
  const Index length = layout.cells[D - 1];
  const auto each_row = [&](auto&& body) {
    for (Index r = 0; r < layout.rows(); ++r) body(layout.row(r), dot<D>(layout.row_coordinate(r), c_strides<D>(layout.cells)));
  };
  each_row([&](Index row, Index at) {
    for (Index k = 0; k < length; ++k) b_[row + k] = active[row + k] ? rhs[at + k] : 0.0;
  });
  inner_iterations_ = 0;
  // Products must be those of one matrix to the accuracy that is asked for.
  for (const auto& solid : solids_) solid->set_tolerance(std::max(1e-14, 1e-3 * options.tolerance));
  report.incompatible = 0;
  if (null_vectors() > 0) {
    region_sums(b_, sums_);
    report.incompatible = levels_.free_part(sums_).cwiseAbs().maxCoeff();
    project(b_);
  }
  poisson_.solver().scale_residuals(std::sqrt(inner_product(b_, b_)));
  std::fill(x_.begin(), x_.end(), 0.0);
  numerics::conjugate_gradients<ShellSystem<D>>(*this, {x_, b_, r_, p_, q_, z_}, options, true, info);
  project(x_);
  each_row([&](Index row, Index at) {
    for (Index k = 0; k < length; ++k) x[at + k] = active[row + k] ? x_[row + k] : 0.0;
  });
  report.inner_iterations = inner_iterations_;
  report.inner_residual = 0;
  for (const auto& solid : solids_) report.inner_residual = std::max(report.inner_residual, solid->largest_residual());
  info.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

template <int D>
void ShellSystem<D>::product(const double* x, double* out) {
  const grid::CellLayout<D>& layout = poisson_.layout();
  const auto& active = poisson_.solver().matrix.active;
  const Coord<D> strides = c_strides<D>(layout.cells);
  const Index length = layout.cells[D - 1];
  for (Index r = 0; r < layout.rows(); ++r)
    for (Index k = 0, at = dot<D>(layout.row_coordinate(r), strides); k < length; ++k)
      p_[layout.row(r) + k] = active[layout.row(r) + k] ? x[at + k] : 0.0;
  apply(p_, q_);
  for (Index r = 0; r < layout.rows(); ++r)
    for (Index k = 0, at = dot<D>(layout.row_coordinate(r), strides); k < length; ++k)
      out[at + k] = active[layout.row(r) + k] ? q_[layout.row(r) + k] : 0.0;
}

template class ShellSystem<2>;
template class ShellSystem<3>;

}  // namespace meniscus::coupling
