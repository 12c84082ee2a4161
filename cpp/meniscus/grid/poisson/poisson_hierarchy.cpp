#include "meniscus/grid/poisson/poisson_hierarchy.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/poisson/levels/single_precision.hpp"
#include "meniscus/numerics/multigrid.hpp"

#include <Eigen/Cholesky>

#include <cmath>
#include <limits>

namespace meniscus::grid {
namespace {

/// A level of at most so many cells is solved directly.
constexpr Index direct_cells = 64;

template <class C>
bool fit(Block<C>& block, Index n) {
  if (block.size() == n) return false;
  block = n > 0 ? Block<C>(n) : Block<C>();
  return true;
}

template <int D>
void copy_to_single(const FaceMatrix<double, D>& a, double unit, FaceMatrix<float, D>& to, const RowChanges<D>& changed) {
  const CellLayout<D>& layout = a.layout;
  bool fresh = fit(to.diagonal, layout.size);
  if (a.has_faces)
    for (auto& f : to.faces) fresh |= fit(f, layout.size);
  fresh |= fit(to.masses, a.masses.size());
  fresh |= to.has_faces != a.has_faces || !(to.layout == layout);
  to.layout = layout;
  to.has_faces = a.has_faces;
  for (std::size_t d = 0; d < D; ++d) to.open_coupling[d] = static_cast<float>(unit * a.open_coupling[d]);
  to.mass = static_cast<float>(unit * a.mass);
  const auto copy = [&](Index b, Index e) {
    const auto part = [&](const Block<double>& from, Block<float>& single, const auto& convert) {
      const double* x = from.data();
      float* y = single.data();
      for (Index i = b; i < e; ++i) y[i] = convert(x[i]);
    };
    if (a.has_faces)
      for (std::size_t d = 0; d < D; ++d) part(a.faces[d], to.faces[d], ToSingle(unit, a.open_coupling[d], to.open_coupling[d]));
    part(a.diagonal, to.diagonal, DiagonalToSingle(unit, a.open_diagonal(), to.open_diagonal()));
    if (a.masses.size() > 0) part(a.masses, to.masses, [unit](double x) { return static_cast<float>(unit * x); });
  };
  if (fresh || changed.all()) {
    parallel_for(0, layout.size, 1 << 16, copy);
  } else {
    const Index length = layout.cells[D - 1];
    parallel_for(0, layout.rows(), std::max<Index>(1, 16384 / length), [&](Index b, Index e) {
      for (Index r = b; r < e; ++r) {
        if (!changed[r]) continue;
        const Index first = layout.row(r);
        // With the last face of the row, and with those behind the last row along other axes.
        copy(first, first + length + 1);
        const Coord<D> c = layout.row_coordinate(r);
        for (std::size_t d = 0; d + 1 < D; ++d)
          if (c[d] + 1 == layout.cells[d]) copy(first + layout.strides[d], first + layout.strides[d] + length);
      }
    });
  }
  to.take_derived(a);
}

}  // namespace

template <int D>
void PoissonHierarchy<D>::build(const FaceMatrix<double, D>& matrix, const RowChanges<D>* changed) {
  if (matrix.layout.halo.block().cut()) {
    build_on_blocks(matrix);
    return;
  }
  // What lies beyond the sides is set once for a layout.
  if (!windows_.empty() || (!levels_.empty() && !(levels_.front().matrix.layout == matrix.layout))) {
    windows_.clear();
    parts_.clear();
    steps_.clear();
    levels_.clear();
    transfers_.clear();
    joinings_.clear();
    changes_.resize(1);
  }
  if (changed && !levels_.empty())
    changes_.front() = *changed;
  else
    changes_.front().mark_all(matrix.layout);
  std::size_t count = 0;
  const auto level = [&](std::size_t l) -> PoissonLevel<D>& {
    while (levels_.size() <= l) levels_.emplace_back();
    return levels_[l];
  };
  const double unit = unit_of(matrix);
  if (unit != unit_) changes_.front().mark_all(matrix.layout);
  unit_ = unit;
  copy_to_single(matrix, unit_, level(0).matrix, changes_.front());
  level(0).prepare(changes_.front());
  while (levels_[count].matrix.layout.count() > direct_cells) {
    if (transfers_.size() <= count) {
      transfers_.emplace_back();
      joinings_.emplace_back();
      changes_.emplace_back();
    }
    PoissonLevel<D>& coarse = level(count + 1);
    const FaceMatrix<float, D>& fine = levels_[count].matrix;
    PoissonCoarsening<D>::run(fine, coarse.matrix, joinings_[count], changes_[count], changes_[count + 1]);
    transfers_[count].build(fine, joinings_[count], changes_[count + 1]);
    coarse.prepare(changes_[count + 1]);
    ++count;
  }
  levels_.resize(count + 1);
  transfers_.resize(count);
  joinings_.resize(count);
  changes_.resize(count + 1);
  invert_coarsest();
}

template <int D>
void PoissonHierarchy<D>::restrict_residual(int level) {
  at(level).compute_residual();
  const Index l = level;
  if (!divided_anew(level)) {
    transfers_[l].restrict_residual(at(level), at(level + 1).b.data());
    return;
  }
  LevelWindow<D>& window = windows_[l + 1];
  WindowPart& part = parts_[l];
  transfers_[l].restrict_residual(at(level), part.values.data());
  copy_box<D>(window.own(), part.layout, window.first_coarse(), part.values.data(), window.layout(), window.first(),
              at(level + 1).b.data());
  window.fill_right_hand_side(at(level + 1).b.data());
}

template <int D>
void PoissonHierarchy<D>::add_correction(int level) {
  const Index l = level;
  if (!divided_anew(level)) {
    transfers_[l].add_correction(at(level + 1).x.data(), at(level));
    return;
  }
  WindowPart& part = parts_[l];
  windows_[l + 1].spread(at(level + 1).x.data(), part.layout, part.values.data());
  transfers_[l].add_correction(part.values.data(), at(level));
}

template <int D>
void PoissonHierarchy<D>::cycle() {
  if (!windows_.empty()) windows_.front().fill_right_hand_side(finest().b.data());
  numerics::v_cycle(*this);
}

template <int D>
Index PoissonHierarchy<D>::place(const Coord<D>& cell) const {
  const CellLayout<D>& layout = levels_.front().matrix.layout;
  if (windows_.empty()) return layout.index(cell);
  Coord<D> c;
  for (std::size_t d = 0; d < D; ++d) c[d] = own_layout_.first[d] + cell[d] - windows_.front().first()[d];
  return layout.index(c);
}

// --- on blocks
// -----------------------------------------------------------------------------------------------------------------------------

/// The own cells in single precision, and the margin of the window from their owners.
template <int D>
void PoissonHierarchy<D>::load_finest(const FaceMatrix<double, D>& a) {
  LevelWindow<D>& window = windows_.front();
  FaceMatrix<float, D>& to = levels_.front().matrix;
  const auto take = [&](const parallel::IndexBox<D>& box, const Block<double>& from, Block<float>& single, const auto& convert) {
    copy_box<D>(box, a.layout, a.layout.first, from.data(), window.layout(), window.first(), single.data(), convert);
  };
  to.reset(window.layout(), a.has_faces);
  for (std::size_t d = 0; d < D; ++d) to.open_coupling[d] = static_cast<float>(unit_ * a.open_coupling[d]);
  to.mass = static_cast<float>(unit_ * a.mass);
  if (a.has_faces)
    for (int d = 0; d < D; ++d) {
      const Index axis = d;
      take(window.own_faces(d), a.faces[axis], to.faces[axis], ToSingle(unit_, a.open_coupling[axis], to.open_coupling[axis]));
      window.fill_faces(d, to.faces[axis].data());
    }
  take(window.own(), a.diagonal, to.diagonal, DiagonalToSingle(unit_, a.open_diagonal(), to.open_diagonal()));
  window.fill(to.diagonal.data());
  fit(to.masses, a.masses.size() > 0 ? window.layout().size : 0);
  if (a.masses.size() > 0) {
    take(window.own(), a.masses, to.masses, [this](double x) { return static_cast<float>(unit_ * x); });
    window.fill(to.masses.data());
  }
}

/// The coarse cells of a window's own fine cells become the own part of the next window.
template <int D>
void PoissonHierarchy<D>::move_to_window(const FaceMatrix<float, D>& part, std::size_t level) {
  LevelWindow<D>& window = windows_[level];
  FaceMatrix<float, D>& to = levels_[level].matrix;
  const auto take = [&](const parallel::IndexBox<D>& box, const Block<float>& from, Block<float>& into) {
    copy_box<D>(box, part.layout, window.first_coarse(), from.data(), window.layout(), window.first(), into.data());
  };
  to.reset(window.layout(), true);
  to.open_coupling = part.open_coupling;
  to.mass = part.mass;
  for (int d = 0; d < D; ++d) {
    const Index axis = d;
    take(window.own_faces(d), part.faces[axis], to.faces[axis]);
    window.fill_faces(d, to.faces[axis].data());
  }
  take(window.own(), part.diagonal, to.diagonal);
  window.fill(to.diagonal.data());
  fit(to.masses, part.masses.size() > 0 ? window.layout().size : 0);
  if (part.masses.size() > 0) {
    take(window.own(), part.masses, to.masses);
    window.fill(to.masses.data());
  }
  to.finish();
}

template <int D>
void PoissonHierarchy<D>::build_on_blocks(const FaceMatrix<double, D>& matrix) {
  if (!(own_layout_ == matrix.layout) || windows_.empty()) {
    own_layout_ = matrix.layout;
    windows_.clear();
    windows_.emplace_back(matrix.layout, replicated_cells_);
    while (!windows_.back().replicated()) windows_.emplace_back(windows_.back(), matrix.layout.halo.communicator());
    levels_.clear();
    transfers_.clear();
    joinings_.clear();
    parts_.clear();
    changes_.clear();
  }
  const auto grow = [](auto& levels, std::size_t count) {
    while (levels.size() < count) levels.emplace_back();
  };
  grow(levels_, 1);
  grow(changes_, 1);
  unit_ = unit_of(matrix);
  load_finest(matrix);
  levels_.front().matrix.finish();
  changes_.front().mark_all(levels_.front().matrix.layout);
  prepare_window(0);
  steps_.resize(own_layout_.rows());
  for (Index r = 0; r < own_layout_.rows(); ++r) steps_[r] = place(own_layout_.row_coordinate(r)) - own_layout_.row(r);
  const auto cells_of = [&](std::size_t l) {
    return l < windows_.size() ? windows_[l].domain_cells() : levels_[l].matrix.layout.count();
  };
  // Everything is derived anew each time: what only the building needs is not kept.
  FaceMatrix<float, D> part;
  std::size_t l = 0;
  for (; cells_of(l) > direct_cells; ++l) {
    grow(levels_, l + 2);
    grow(changes_, l + 2);
    grow(transfers_, l + 1);
    if (divided_anew(static_cast<int>(l))) {
      grow(parts_, l + 1);
      coarsen_window(l, part);
    } else {
      const FaceMatrix<float, D>& fine = levels_[l].matrix;
      CellJoining<D> joining;
      PoissonCoarsening<D>::run(fine, levels_[l + 1].matrix, joining, changes_[l], changes_[l + 1]);
      transfers_[l].build(fine, joining, changes_[l + 1]);
      levels_[l + 1].prepare();
    }
  }
  levels_.resize(l + 1);
  transfers_.resize(l);
  changes_.resize(l + 1);
  invert_coarsest();
}

/// A level whose coarse cells are divided among blocks anew.
template <int D>
void PoissonHierarchy<D>::coarsen_window(std::size_t level, FaceMatrix<float, D>& part) {
  CellJoining<D> joining;
  const FaceMatrix<float, D>& fine = levels_[level].matrix;
  const LevelWindow<D>& coarse = windows_[level + 1];
  PoissonCoarsening<D>::run(fine, part, joining, changes_[level], changes_[level + 1]);
  const TransferBoxes<D> boxes{coarse.interpolated(), coarse.restricted()};
  transfers_[level].build(fine, joining, changes_[level + 1], &boxes);
  WindowPart& kept = parts_[level];
  kept.layout = part.layout;
  if (fit(kept.values, part.layout.size)) std::fill(kept.values.begin(), kept.values.end(), 0.0f);
  move_to_window(part, level + 1);
  changes_[level + 1].mark_all(levels_[level + 1].matrix.layout);
  prepare_window(level + 1);
}

template <int D>
void PoissonHierarchy<D>::prepare_window(std::size_t level) {
  levels_[level].prepare();
  levels_[level].limit_to(windows_[level].needed());
}

template <int D>
void PoissonHierarchy<D>::invert_coarsest() {
  const FaceMatrix<float, D>& a = levels_.back().matrix;
  unknowns_.clear();
  std::vector<Index> number(a.layout.size, -1);
  for (Index r = 0; r < a.layout.rows(); ++r)
    for (Index i = a.layout.row(r); i < a.layout.row(r) + a.layout.cells[D - 1]; ++i)
      if (a.active[i]) {
        number[i] = static_cast<Index>(unknowns_.size());
        unknowns_.push_back(i);
      }
  const auto n = static_cast<Eigen::Index>(unknowns_.size());
  if (n == 0) return;
  Eigen::MatrixXd dense = Eigen::MatrixXd::Zero(n, n);
  std::vector<Eigen::Index> part(unknowns_.size());
  for (Eigen::Index k = 0; k < n; ++k) part[k] = k;
  std::vector<double> open(unknowns_.size());
  for (Eigen::Index k = 0; k < n; ++k) {
    const Index i = unknowns_[k];
    const double fixed = dirichlet_coupling<float, D>(a, i) + a.mass_of(i);
    open[k] = fixed;
    dense(k, k) += fixed;
    const Coord<D> s = a.layout.strides;
    for (std::size_t d = 0; d < D; ++d) {
      if (!a.active[i - s[d]]) continue;
      // The cell below, perhaps around a periodic side.
      Index below = i - s[d];
      if (number[below] < 0) below += a.layout.cells[d] * s[d];
      const auto m = static_cast<Eigen::Index>(number[below]);
      const double w = a.face(static_cast<int>(d), i);
      if (m == k || w <= 0) continue;
      dense(k, k) += w;
      dense(m, m) += w;
      dense(k, m) -= w;
      dense(m, k) -= w;
      const Eigen::Index x = part[k], y = part[m];
      for (Eigen::Index& p : part)
        if (p == std::max(x, y)) p = std::min(x, y);
    }
  }
  // A part without a Dirichlet condition is singular; a multiple of its constant vector makes it regular and is taken out again.
  Eigen::MatrixXd shift = Eigen::MatrixXd::Zero(n, n);
  for (Eigen::Index p = 0; p < n; ++p) {
    std::vector<Eigen::Index> members;
    double fixed = 0, diagonal = 0;
    for (Eigen::Index k = 0; k < n; ++k)
      if (part[k] == p) {
        members.push_back(k);
        fixed += open[k];
        diagonal = std::max(diagonal, dense(k, k));
      }
    if (members.empty() || fixed > 0) continue;
    const double size = static_cast<double>(members.size());
    if (diagonal == 0) diagonal = 1;
    for (Eigen::Index k : members)
      for (Eigen::Index m : members) {
        dense(k, m) += diagonal / size;
        shift(k, m) = 1 / (diagonal * size);
      }
  }
  const Eigen::MatrixXd inverse = dense.ldlt().solve(Eigen::MatrixXd::Identity(n, n)) - shift;
  inverse_ = (0.5 * (inverse + inverse.transpose())).template cast<float>();
}

template <int D>
void PoissonHierarchy<D>::solve_coarsest() {
  PoissonLevel<D>& level = levels_.back();
  const std::size_t n = unknowns_.size();
  for (std::size_t k = 0; k < n; ++k) {
    double sum = 0;
    for (std::size_t m = 0; m < n; ++m)
      sum += static_cast<double>(inverse_(static_cast<Eigen::Index>(m), static_cast<Eigen::Index>(k))) *
             static_cast<double>(level.b[unknowns_[m]]);
    level.x[unknowns_[k]] = static_cast<float>(sum);
  }
  level.matrix.layout.halo.exchange(level.x.data());
}

template <int D>
Index PoissonHierarchy<D>::bytes() const {
  Index n = inverse_.size() * 4 + static_cast<Index>(steps_.size() * sizeof(Index));
  // On a single block, the finest level shares what is derived from the matrix with the matrix in double precision.
  for (std::size_t l = 0; l < levels_.size(); ++l) n += levels_[l].bytes(l > 0 || !windows_.empty());
  for (const CellJoining<D>& j : joinings_) n += j.owner.size() + j.state.size() + j.links.size();
  for (const PoissonTransfer<D>& t : transfers_) n += t.bytes();
  for (const WindowPart& p : parts_) n += 4 * p.values.size();
  return n;
}

template class PoissonHierarchy<2>;
template class PoissonHierarchy<3>;

}  // namespace meniscus::grid
