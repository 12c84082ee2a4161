#include "meniscus/fluids/pressure/bodies/body_deflation.hpp"

#include "meniscus/core/parallel.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::fluids {
namespace {

/// Coefficients of a matrix at the faces of cells.
template <int D>
struct Faces {
  const grid::FaceMatrix<double, D>& matrix;
  double operator()(int d, Index face) const { return matrix.has_faces ? matrix.faces[d][face] : matrix.open_coupling[d]; }
};

/// Parts of the diagonal that are added until the matrix of the coarse space is positive definite.
constexpr std::array ridges{1e-10, 1e-7, 1e-4};

}  // namespace

template <int D>
void BodyDeflation<D>::make_window(const grid::PoissonSolver<D>& poisson, std::span<const Index> cells,
                                   std::span<const double> rows, Window& window) const {
  const grid::CellLayout<D>& layout = poisson.matrix.layout;
  const Faces<D> faces{poisson.matrix};
  const grid::ImageWindow<D> box(layout, cells, margin);
  window.box = box;
  std::vector<std::int32_t> number(box.count(), -1);
  window.cell.clear();
  std::vector<Coord<D>> at;
  for (Index k = 0; k < box.count(); ++k) {
    const Coord<D> c = box.at(k);
    const Index i = box.index(c);
    if (!poisson.matrix.active[i]) continue;
    number[k] = static_cast<std::int32_t>(window.cell.size());
    window.cell.push_back(i);
    at.push_back(c);
  }
  // Rows of the window's matrix: the pressure is zero around it.
  constexpr std::size_t sides = 2 * D;
  const std::size_t n = window.cell.size();
  std::vector<std::array<std::int32_t, sides>> beside(n);
  std::vector<std::array<double, sides>> coupling(n);
  std::vector<double> diagonal(n);
  for (std::size_t k = 0; k < n; ++k) {
    diagonal[k] = poisson.matrix.diagonal[window.cell[k]];
    for (int d = 0; d < D; ++d)
      for (const int up : {0, 1}) {
        Coord<D> next = at[k];
        next[d] += up ? 1 : -1;
        const Index place = box.number(next);
        const int s = 2 * d + up;
        beside[k][s] = place < 0 ? -1 : number[place];
        coupling[k][s] = beside[k][s] < 0 ? 0.0 : faces(d, window.cell[k] + (up ? layout.strides[d] : 0));
      }
  }
  using Values = Eigen::Array<double, freedoms, 1>;
  std::vector<Values> x(n, Values::Zero()), r(n, Values::Zero()), p(n), q(n);
  for (std::size_t k = 0; k < cells.size(); ++k)
    r[number[box.number(box.near(cells[k]))]] = Eigen::Map<const Values>(rows.data() + freedoms * k);
  const auto multiply = [&](const std::vector<Values>& from, std::vector<Values>& to) {
    for (std::size_t k = 0; k < n; ++k) {
      Values sum = diagonal[k] * from[k];
      for (std::size_t s = 0; s < sides; ++s)
        if (beside[k][s] >= 0) sum -= coupling[k][s] * from[beside[k][s]];
      to[k] = sum;
    }
  };
  // Conjugate gradients with the diagonal, all freedoms at once.
  Values before = Values::Zero();
  const auto part = [](const Values& a, const Values& b) { return (b > 0).select(a / b.max(1e-300), Values::Zero()).eval(); };
  for (int step = 0; step < steps; ++step) {
    Values rz = Values::Zero();
    for (std::size_t k = 0; k < n; ++k) rz += r[k] * r[k] / diagonal[k];
    const Values beta = step == 0 ? Values::Zero().eval() : part(rz, before);
    for (std::size_t k = 0; k < n; ++k)
      p[k] = step == 0 ? (r[k] / diagonal[k]).eval() : (r[k] / diagonal[k] + beta * p[k]).eval();
    multiply(p, q);
    Values pq = Values::Zero();
    for (std::size_t k = 0; k < n; ++k) pq += p[k] * q[k];
    const Values alpha = part(rz, pq);
    for (std::size_t k = 0; k < n; ++k) {
      x[k] += alpha * p[k];
      r[k] -= alpha * q[k];
    }
    before = rz;
  }
  window.pressure.resize(freedoms * n);
  for (std::size_t k = 0; k < n; ++k) Eigen::Map<Values>(window.pressure.data() + freedoms * k) = x[k];
  multiply(x, q);
  window.reach = window.cell;
  window.product.resize(freedoms * n);
  for (std::size_t k = 0; k < n; ++k) Eigen::Map<Values>(window.product.data() + freedoms * k) = q[k];
  // Around the window, what flows from it.
  for (std::size_t k = 0; k < n; ++k)
    for (int d = 0; d < D; ++d)
      for (const int up : {0, 1}) {
        Coord<D> next = at[k];
        next[d] += up ? 1 : -1;
        if (box.number(next) >= 0) continue;
        const Index i = box.index(next);
        if (i < 0 || !poisson.matrix.active[i]) continue;
        const Values flow = -faces(d, window.cell[k] + (up ? layout.strides[d] : 0)) * x[k];
        window.reach.push_back(i);
        for (int f = 0; f < freedoms; ++f) window.product.push_back(flow[f]);
      }
}

template <int D>
void BodyDeflation<D>::prepare(const grid::PoissonSolver<D>& poisson, const VolumeRows& rows, const BodyLevels<D>& levels,
                               BodyResponse& solids, double scale) {
  const Index bodies = solids.count();
  std::vector<std::vector<Index>> cells(bodies);
  std::vector<std::vector<double>> entries(bodies);
  rows.visit([&](Index cell, std::int32_t velocity, double value) {
    const std::int32_t b = solids.body_of(velocity);
    if (cells[b].empty() || cells[b].back() != cell) {
      cells[b].push_back(cell);
      entries[b].resize(entries[b].size() + freedoms, 0.0);
    }
    Eigen::Map<Vector6>(entries[b].data() + entries[b].size() - freedoms) += value * solids.mode(velocity);
  });
  windows_.assign(bodies, {});
  parallel_for(0, bodies, 1, [&](Index begin, Index end) {
    for (Index b = begin; b < end; ++b)
      if (!cells[b].empty()) make_window(poisson, cells[b], entries[b], windows_[b]);
  });
  // Which freedoms the fluid resists: W^T L W of one window is its inertia for a unit of each velocity.
  columns_ = 0;
  std::vector<double> f(solids.velocities()), v(solids.velocities());
  for (Index b = 0; b < bodies; ++b) {
    Window& w = windows_[b];
    w.column.fill(-1);
    for (std::size_t k = 0; k < freedoms; ++k) {
      double inertia = 0;
      for (std::size_t i = 0; i < w.cell.size(); ++i) inertia += w.pressure[freedoms * i + k] * w.product[freedoms * i + k];
      if (!(inertia > 0)) continue;
      if (scale * inertia * solids.mobility(b, static_cast<int>(k)) > least_ratio) w.column[k] = columns_++;
    }
  }
  if (columns_ == 0) return;
  Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(columns_, columns_), pushes = Eigen::MatrixXd::Zero(solids.velocities(), columns_);
  const auto apart = [](const Window& a, const Window& b) { return b.cell.empty() || !a.box->meets(*b.box); };
  Block<double> scratch(poisson.b.size());
  std::fill(scratch.begin(), scratch.end(), 0.0);
  Eigen::VectorXd sums(levels.count());
  for (Index b = 0; b < bodies; ++b) {
    const Window& w = windows_[b];
    for (std::size_t k = 0; k < freedoms; ++k) {
      const Index column = w.column[k];
      if (column < 0) continue;
      for (std::size_t i = 0; i < w.cell.size(); ++i) scratch[w.cell[i]] = w.pressure[freedoms * i + k];
      rows.gather(scratch.data(), scale, f);
      for (std::size_t j = 0; j < f.size(); ++j) pushes(static_cast<Index>(j), column) = f[j];
      if (levels.count() > 0) {
        sums.setZero();
        for (std::size_t i = 0; i < w.cell.size(); ++i)
          if (const std::int32_t region = levels.label_of(w.cell[i]); region >= 0) sums[region] += w.pressure[freedoms * i + k];
        levels.unpush(sums, pushes.col(column));
      }
      for (const Index i : w.cell) scratch[i] = 0;
      for (std::size_t i = 0; i < w.reach.size(); ++i) scratch[w.reach[i]] += w.product[freedoms * i + k];
      for (const Window& other : windows_) {
        if (apart(w, other)) continue;
        std::array<double, freedoms> sum{};
        for (std::size_t i = 0; i < other.cell.size(); ++i)
          if (const double value = scratch[other.cell[i]]; value != 0)
            for (std::size_t l = 0; l < freedoms; ++l) sum[l] += other.pressure[freedoms * i + l] * value;
        for (std::size_t l = 0; l < freedoms; ++l)
          if (!other.cell.empty() && other.column[l] >= 0) gram(other.column[l], column) += sum[l];
      }
      for (const Index i : w.reach) scratch[i] = 0;
    }
  }
  for (Index column = 0; column < columns_; ++column) {
    solids.respond({pushes.col(column).data(), f.size()}, v);
    gram.col(column) += pushes.transpose() * Eigen::Map<const Eigen::VectorXd>(v.data(), static_cast<Index>(v.size())) / scale;
  }
  gram = (0.5 * (gram + gram.transpose())).eval();
  // A body in a few cells drives the same pressure by several of its velocities. With any symmetric Q the preconditioner is one.
  for (const double more : ridges) {
    gram.diagonal() *= 1 + more;
    factor_.compute(gram);
    if (factor_.info() == Eigen::Success) return;
  }
  columns_ = 0;
}

template <int D>
void BodyDeflation<D>::weigh(const Block<double>& r, Eigen::VectorXd& y) const {
  y.setZero(columns_);
  for (const Window& w : windows_) {
    if (w.cell.empty()) continue;
    std::array<double, freedoms> sum{};
    for (std::size_t i = 0; i < w.cell.size(); ++i)
      for (std::size_t k = 0; k < freedoms; ++k) sum[k] += w.pressure[freedoms * i + k] * r[w.cell[i]];
    for (std::size_t k = 0; k < freedoms; ++k)
      if (w.column[k] >= 0) y[w.column[k]] = sum[k];
  }
  factor_.solveInPlace(y);
}

template <int D>
void BodyDeflation<D>::add(const Eigen::VectorXd& y, double factor, Block<double>& z) const {
  for (const Window& w : windows_) {
    if (w.cell.empty()) continue;
    std::array<double, freedoms> part{};
    for (std::size_t k = 0; k < freedoms; ++k) part[k] = w.column[k] >= 0 ? factor * y[w.column[k]] : 0.0;
    for (std::size_t i = 0; i < w.cell.size(); ++i) {
      double sum = 0;
      for (std::size_t k = 0; k < freedoms; ++k) sum += part[k] * w.pressure[freedoms * i + k];
      z[w.cell[i]] += sum;
    }
  }
}

template <int D>
Index BodyDeflation<D>::bytes() const {
  Index n = 8 * columns_ * columns_;
  for (const Window& w : windows_)
    n += static_cast<Index>(8 * (w.cell.size() + w.pressure.size() + w.product.size() + w.reach.size()));
  return n;
}

template class BodyDeflation<2>;
template class BodyDeflation<3>;

}  // namespace meniscus::fluids
