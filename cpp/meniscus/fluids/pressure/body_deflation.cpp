#include "meniscus/fluids/pressure/body_deflation.hpp"

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

/// The box of cells around a body, with cells by their coordinates from its lower corner.
template <int D>
struct LocalBox {
  Coord<D> first{}, extents{};
  std::vector<std::int32_t> number;

  Index place(const Coord<D>& c) const {
    Index at = 0;
    for (std::size_t d = 0; d < D; ++d) {
      const Index k = c[d] - first[d];
      if (k < 0 || k >= extents[d]) return -1;
      at = at * extents[d] + k;
    }
    return at;
  }
};

/// A closed region whose constant pushes bodies, as small regions beside it have no pressure.
struct PushingRegion {
  std::vector<std::uint8_t> mask;
  double cells;
  Eigen::VectorXd push;
};

/// Pushes below this part of what they sum are rounding.
constexpr double least_push = 1e-9;

template <int D>
std::vector<PushingRegion> pushing_regions(const grid::PoissonSolver<D>& poisson, const VolumeRows& rows,
                                           std::size_t velocities) {
  std::vector<PushingRegion> found;
  const auto& regions = poisson.regions().regions();
  for (std::size_t r = 0; r < regions.size(); ++r) {
    if (!regions[r].closed) continue;
    PushingRegion region{std::vector<std::uint8_t>(static_cast<std::size_t>(poisson.b.size()), 0),
                         static_cast<double>(regions[r].cells), Eigen::VectorXd::Zero(static_cast<Eigen::Index>(velocities))};
    for (const auto& u : poisson.regions().intervals())
      if (static_cast<std::size_t>(u.region) == r) std::fill_n(region.mask.begin() + u.index, u.count, std::uint8_t(1));
    double whole = 0;
    rows.visit([&](Index cell, std::int32_t velocity, double value) {
      if (!region.mask[cell]) return;
      region.push[velocity] += value;
      whole = std::max(whole, std::abs(value));
    });
    if (region.push.cwiseAbs().maxCoeff() > least_push * whole) found.push_back(std::move(region));
  }
  return found;
}

template <int D>
Coord<D> coordinate_of(const grid::CellLayout<D>& layout, Index cell) {
  Coord<D> c{};
  Index rest = cell - layout.origin;
  for (std::size_t d = 0; d < D; rest -= c[d] * layout.strides[d], ++d) c[d] = rest / layout.strides[d];
  return c;
}

}  // namespace

template <int D>
void BodyDeflation<D>::make_window(const grid::PoissonSolver<D>& poisson, std::span<const Index> cells,
                                   std::span<const double> rows, Window& window) const {
  const grid::CellLayout<D>& layout = poisson.matrix.layout;
  const Faces<D> faces{poisson.matrix};
  // A body across a periodic end is taken by its images next to its first cell.
  const Coord<D> origin = coordinate_of<D>(layout, cells[0]);
  const auto unwrapped = [&](Index cell) {
    Coord<D> c = coordinate_of<D>(layout, cell);
    for (std::size_t d = 0; d < D; ++d) {
      if (!layout.periodic[d]) continue;
      const Index n = layout.cells[d];
      if (c[d] - origin[d] > n / 2) c[d] -= n;
      if (origin[d] - c[d] > n / 2) c[d] += n;
    }
    return c;
  };
  Coord<D> lower = origin, upper = origin;
  for (const Index cell : cells) {
    const Coord<D> c = unwrapped(cell);
    for (std::size_t d = 0; d < D; ++d) {
      lower[d] = std::min(lower[d], c[d]);
      upper[d] = std::max(upper[d], c[d]);
    }
  }
  LocalBox<D> box;
  for (std::size_t d = 0; d < D; ++d) {
    const Index n = layout.cells[d], wide = std::min(margin, upper[d] - lower[d] + 1);
    lower[d] -= wide;
    upper[d] += wide;
    if (layout.periodic[d])
      upper[d] = std::min(upper[d], lower[d] + n - 1);
    else {
      lower[d] = std::max<Index>(lower[d], 0);
      upper[d] = std::min(upper[d], n - 1);
    }
    box.first[d] = lower[d];
    box.extents[d] = upper[d] - lower[d] + 1;
  }
  window.lower = lower;
  window.upper = upper;
  box.number.assign(product<D>(box.extents), -1);
  const auto index_of = [&](Coord<D> c) {
    for (std::size_t d = 0; d < D; ++d)
      if (layout.periodic[d]) c[d] = (c[d] % layout.cells[d] + layout.cells[d]) % layout.cells[d];
    return layout.index(c);
  };
  window.cell.clear();
  std::vector<Coord<D>> at;
  Coord<D> c = lower;
  for (Index k = 0; k < product<D>(box.extents); ++k) {
    Index rest = k;
    for (std::size_t d = D; d-- > 0; rest /= box.extents[d]) c[d] = lower[d] + rest % box.extents[d];
    const Index i = index_of(c);
    if (!poisson.matrix.active[i]) continue;
    box.number[k] = static_cast<std::int32_t>(window.cell.size());
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
        const Index place = box.place(next);
        const std::size_t s = 2 * static_cast<std::size_t>(d) + static_cast<std::size_t>(up);
        beside[k][s] = place < 0 ? -1 : box.number[place];
        coupling[k][s] = beside[k][s] < 0 ? 0.0 : faces(d, window.cell[k] + (up ? layout.strides[d] : 0));
      }
  }
  using Values = Eigen::Array<double, freedoms, 1>;
  std::vector<Values> x(n, Values::Zero()), r(n, Values::Zero()), p(n), q(n);
  for (std::size_t k = 0; k < cells.size(); ++k)
    r[box.number[box.place(unwrapped(cells[k]))]] = Eigen::Map<const Values>(rows.data() + freedoms * k);
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
        if (box.place(next) >= 0) continue;
        if (!layout.periodic[d] && (next[d] < 0 || next[d] >= layout.cells[d])) continue;
        const Index i = index_of(next);
        if (!poisson.matrix.active[i]) continue;
        const Values flow = -faces(d, window.cell[k] + (up ? layout.strides[d] : 0)) * x[k];
        window.reach.push_back(i);
        for (int f = 0; f < freedoms; ++f) window.product.push_back(flow[f]);
      }
}

template <int D>
void BodyDeflation<D>::prepare(const grid::PoissonSolver<D>& poisson, const VolumeRows& rows, SolidResponse& solids,
                               double scale) {
  const auto bodies = static_cast<std::size_t>(solids.velocities() / freedoms);
  std::vector<std::vector<Index>> cells(bodies);
  std::vector<std::vector<double>> entries(bodies);
  rows.visit([&](Index cell, std::int32_t velocity, double value) {
    const auto b = static_cast<std::size_t>(velocity / freedoms);
    if (cells[b].empty() || cells[b].back() != cell) {
      cells[b].push_back(cell);
      entries[b].resize(entries[b].size() + freedoms, 0.0);
    }
    entries[b][entries[b].size() - freedoms + static_cast<std::size_t>(velocity % freedoms)] = value;
  });
  windows_.assign(bodies, {});
  parallel_for(0, static_cast<Index>(bodies), 1, [&](Index begin, Index end) {
    for (Index b = begin; b < end; ++b)
      if (!cells[b].empty()) make_window(poisson, cells[b], entries[b], windows_[b]);
  });
  // Which freedoms the fluid resists: W^T L W of one window is its inertia for a unit of each velocity.
  columns_ = 0;
  std::vector<double> f(solids.velocities()), v(solids.velocities());
  for (std::size_t b = 0; b < bodies; ++b) {
    Window& w = windows_[b];
    w.column.fill(-1);
    for (std::size_t k = 0; k < freedoms; ++k) {
      double inertia = 0;
      for (std::size_t i = 0; i < w.cell.size(); ++i) inertia += w.pressure[freedoms * i + k] * w.product[freedoms * i + k];
      if (!(inertia > 0)) continue;
      std::fill(f.begin(), f.end(), 0.0);
      f[freedoms * b + k] = 1;
      solids.respond(f, v);
      if (scale * inertia * v[freedoms * b + k] > least_ratio) w.column[k] = columns_++;
    }
  }
  if (columns_ == 0) return;
  Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(columns_, columns_), pushes = Eigen::MatrixXd::Zero(solids.velocities(), columns_);
  const auto apart = [&](const Window& a, const Window& b) {
    if (b.cell.empty()) return true;
    for (std::size_t d = 0; d < D; ++d)
      if (!poisson.matrix.layout.periodic[d] && (a.lower[d] > b.upper[d] + 1 || b.lower[d] > a.upper[d] + 1)) return true;
    return false;
  };
  Block<double> scratch(poisson.b.size());
  std::fill(scratch.begin(), scratch.end(), 0.0);
  const std::vector<PushingRegion> pushing = pushing_regions(poisson, rows, f.size());
  for (std::size_t b = 0; b < bodies; ++b) {
    const Window& w = windows_[b];
    for (std::size_t k = 0; k < freedoms; ++k) {
      const Index column = w.column[k];
      if (column < 0) continue;
      for (std::size_t i = 0; i < w.cell.size(); ++i) scratch[w.cell[i]] = w.pressure[freedoms * i + k];
      rows.gather(scratch.data(), scale, f);
      for (std::size_t j = 0; j < f.size(); ++j) pushes(static_cast<Index>(j), column) = f[j];
      // Pressures have no mean over a closed region.
      for (const PushingRegion& region : pushing) {
        double sum = 0;
        for (std::size_t i = 0; i < w.cell.size(); ++i) sum += region.mask[w.cell[i]] ? w.pressure[freedoms * i + k] : 0.0;
        pushes.col(column) -= scale * sum / region.cells * region.push;
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
  factor_.compute(gram);
  if (factor_.info() != Eigen::Success) columns_ = 0;
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
