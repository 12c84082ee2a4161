#include "meniscus/fluids/voronoi/cell_velocity.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/voronoi/fit_inverse.hpp"

#include <cmath>

namespace meniscus::fluids {
namespace {

using mesh::Point;
using Homogeneous = Eigen::Vector4d;

constexpr Index fit_chunk = 128;
/// Weight of the faces of neighbours in the fit of a cell; those of its own have one.
constexpr double neighbour_weight = 0.3;

/// The places of the upper triangles of symmetric matrices of three and four rows.
constexpr std::array<std::array<int, 2>, 6> of_three{{{0, 0}, {0, 1}, {0, 2}, {1, 1}, {1, 2}, {2, 2}}};
constexpr std::array<std::array<int, 2>, 10> of_four{
    {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {1, 1}, {1, 2}, {1, 3}, {2, 2}, {2, 3}, {3, 3}}};

Homogeneous homogeneous(const Point& s) { return {1, s[0], s[1], s[2]}; }

/// t t^T of points moved by `shift`.
Eigen::Matrix<double, 10, 1> shifted(const Eigen::Ref<const Eigen::Matrix<double, 1, 10>>& m, const Point& d) {
  Eigen::Matrix<double, 10, 1> out;
  const double w = m[0];
  const Point s(m[1], m[2], m[3]);
  out[0] = w;
  for (int k = 0; k < 3; ++k) out[1 + k] = s[k] + w * d[k];
  for (int k = 4; k < 10; ++k) {
    const int i = of_four[static_cast<unsigned>(k)][0] - 1, j = of_four[static_cast<unsigned>(k)][1] - 1;
    out[k] = m[k] + s[i] * d[j] + d[i] * s[j] + w * d[i] * d[j];
  }
  return out;
}

}  // namespace

std::int32_t CellVelocity::find(std::int32_t site, std::int32_t part) const {
  std::int32_t e = head_[site];
  while (e >= 0 && part_[e] != part) e = next_[e];
  return e;
}

std::int32_t CellVelocity::add(std::int32_t site, std::int32_t part) {
  if (const std::int32_t e = find(site, part); e >= 0) return e;
  const auto e = static_cast<std::int32_t>(site_.size());
  site_.push_back(site);
  part_.push_back(part);
  next_.push_back(-1);
  std::int32_t* last = &head_[site];
  while (*last >= 0) last = &next_[*last];
  return *last = e;
}

bool CellVelocity::has_member(std::int32_t entry, std::int32_t site) const {
  const auto all = members(entry);
  return std::find(all.begin(), all.end(), site) != all.end();
}

bool CellVelocity::coupled(std::int32_t face, std::int32_t site) const {
  return cells_->sides[face][mesh_->faces()[face].first != site].beyond == Beyond::liquid;
}

/// Whether two sites of the liquid touch, or both touch a third one.
bool CellVelocity::linked(std::int32_t a, std::int32_t b) const {
  if (a == b) return true;
  for (const std::int32_t f : mesh_->faces_of(a))
    if (coupled(f, a) && mesh_->faces()[f].across(a) == b) return true;
  for (const std::int32_t f : mesh_->faces_of(a)) {
    if (!coupled(f, a)) continue;
    const std::int32_t c = mesh_->faces()[f].across(a);
    for (const std::int32_t g : mesh_->faces_of(c))
      if (coupled(g, c) && mesh_->faces()[g].across(c) == b) return true;
  }
  return false;
}

/// From site to site through liquid, each closer to p.
std::int32_t CellVelocity::walk(std::int32_t anchor, const Point& p) const {
  double least = (mesh_->sites()[anchor] - p).squaredNorm();
  for (bool closer = true; closer;) {
    closer = false;
    const std::int32_t here = anchor;
    for (const std::int32_t f : mesh_->faces_of(here)) {
      if (!coupled(f, here)) continue;
      const std::int32_t next = mesh_->faces()[f].across(here);
      if (const double d = (mesh_->sites()[next] - p).squaredNorm(); d < least) {
        least = d;
        anchor = next;
        closer = true;
      }
    }
  }
  return anchor;
}

/// Entries of a site in the air: one for each group of its neighbours in the liquid that are linked.
void CellVelocity::add_groups(std::int32_t site) {
  std::array<std::int32_t, 64> wet, group;
  std::size_t count = 0;
  for (const std::int32_t f : mesh_->faces_of(site)) {
    if (mesh_->faces()[f].on_wall() || count == wet.size()) continue;
    const std::int32_t j = mesh_->faces()[f].across(site);
    if (cells_->part[j] < 0 || !cells_->known(f, mesh_->faces()[f].first != j)) continue;
    group[count] = static_cast<std::int32_t>(count);
    wet[count++] = j;
  }
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = i + 1; k < count; ++k)
      if (group[k] != group[i] && cells_->part[wet[i]] == cells_->part[wet[k]] && linked(wet[i], wet[k])) {
        const std::int32_t from = std::max(group[i], group[k]), to = std::min(group[i], group[k]);
        for (std::size_t m = 0; m < count; ++m)
          if (group[m] == from) group[m] = to;
      }
  for (std::size_t i = 0; i < count; ++i) {
    if (group[i] != static_cast<std::int32_t>(i)) continue;
    const auto e = static_cast<std::int32_t>(site_.size());
    site_.push_back(site);
    part_.push_back(cells_->part[wet[i]]);
    next_.push_back(-1);
    std::int32_t* last = &head_[site];
    while (*last >= 0) last = &next_[*last];
    *last = e;
    for (std::size_t m = i; m < count; ++m)
      if (group[m] == group[i]) members_.push_back(wet[m]);
    member_start_.push_back(static_cast<std::int32_t>(members_.size()));
  }
}

void CellVelocity::list_entries() {
  head_.assign(mesh_->sites().size(), -1);
  site_.clear();
  part_.clear();
  next_.clear();
  members_.clear();
  member_start_.assign(1, 0);
  first_of_part_.assign(cells_->closed.size(), -1);
  for (std::int32_t i = 0; i < mesh_->size(); ++i) {
    if (cells_->part[i] < 0) continue;
    add(i, cells_->part[i]);
    members_.push_back(i);
    member_start_.push_back(static_cast<std::int32_t>(members_.size()));
    if (first_of_part_[cells_->part[i]] < 0) first_of_part_[cells_->part[i]] = i;
  }
  for (std::int32_t i = 0; i < mesh_->size(); ++i)
    if (cells_->part[i] < 0) add_groups(i);
  fitted_ = static_cast<std::int32_t>(site_.size());
}

std::int32_t CellVelocity::across(std::int32_t entry, std::int32_t face) const {
  if (mesh_->faces()[face].on_wall()) return -1;
  const std::int32_t i = site_[entry], j = mesh_->faces()[face].across(i);
  const bool wet = cells_->part[i] >= 0;
  if (cells_->part[j] >= 0) return (wet ? coupled(face, i) : has_member(entry, j)) ? head_[j] : -1;
  for (std::int32_t e = head_[j]; e >= 0 && e < fitted_; e = next_[e])
    for (const std::int32_t m : members(entry))
      if (has_member(e, m)) return e;
  return -1;
}

/// The entry of a site with the liquid around an anchor; -1 where there is none.
std::int32_t CellVelocity::near_anchor(std::int32_t site, std::int32_t anchor) const {
  if (cells_->part[site] >= 0) return linked(anchor, site) ? head_[site] : -1;
  for (std::int32_t e = head_[site]; e >= 0 && e < fitted_; e = next_[e])
    if (has_member(e, anchor)) return e;
  bool other = false;
  for (std::int32_t e = head_[site]; e >= 0 && e < fitted_; e = next_[e]) {
    if (part_[e] != cells_->part[anchor]) continue;
    other = true;
    for (const std::int32_t f : mesh_->faces_of(anchor))
      if (coupled(f, anchor) && has_member(e, mesh_->faces()[f].across(anchor))) return e;
  }
  return other ? -1 : find(site, cells_->part[anchor]);
}

template <class Value>
void CellVelocity::sum_right(Value&& value) {
  parallel_for(0, fitted_, fit_chunk, [&](Index begin, Index end) {
    for (Index e = begin; e < end; ++e) {
      Moments& m = moments_[e];
      m.right.setZero();
      const std::int32_t i = site_[e];
      for (const std::int32_t f : mesh_->faces_of(i)) {
        const auto& [a, b] = mesh_->faces()[f];
        for (const std::size_t s : {0u, 1u}) {
          const std::int32_t cell = s == 0 ? a : b;
          if (cell < 0 || !cells_->known(f, s) || !has_member(static_cast<std::int32_t>(e), cell)) continue;
          const Homogeneous t = homogeneous((mesh_->centroids()[f] - mesh_->sites()[i]) / options_.cell);
          m.right += cells_->open[f] * mesh_->areas()[f] * value(f, s) * mesh_->normals()[f] * t.transpose();
        }
      }
    }
  });
}

void CellVelocity::sum_moments() {
  parallel_for(0, fitted_, fit_chunk, [&](Index begin, Index end) {
    for (Index e = begin; e < end; ++e) {
      Moments& m = moments_[e];
      m.matrix.setZero();
      const std::int32_t i = site_[e];
      for (const std::int32_t f : mesh_->faces_of(i)) {
        const auto& [a, b] = mesh_->faces()[f];
        double weight = 0;
        for (const std::size_t s : {0u, 1u}) {
          const std::int32_t cell = s == 0 ? a : b;
          if (cell >= 0 && cells_->known(f, s) && has_member(static_cast<std::int32_t>(e), cell))
            weight += cells_->open[f] * mesh_->areas()[f];
        }
        if (weight == 0) continue;
        const Point& n = mesh_->normals()[f];
        const Homogeneous t = homogeneous((mesh_->centroids()[f] - mesh_->sites()[i]) / options_.cell);
        Eigen::Matrix<double, 6, 1> nn;
        Eigen::Matrix<double, 10, 1> tt;
        for (std::size_t k = 0; k < 6; ++k) nn[static_cast<Index>(k)] = weight * n[of_three[k][0]] * n[of_three[k][1]];
        for (std::size_t k = 0; k < 10; ++k) tt[static_cast<Index>(k)] = t[of_four[k][0]] * t[of_four[k][1]];
        m.matrix += nn * tt.transpose();
      }
    }
  });
}

void CellVelocity::invert() {
  inverse_.resize(fitted_);
  parallel_for(0, fitted_, fit_chunk, [&](Index begin, Index end) {
    for (Index e = begin; e < end; ++e) {
      const std::int32_t i = site_[e];
      Eigen::Matrix<double, 6, 10> sum = moments_[e].matrix;
      for (const std::int32_t f : mesh_->faces_of(i)) {
        const std::int32_t other = across(static_cast<std::int32_t>(e), f);
        if (other < 0) continue;
        const std::int32_t j = site_[other];
        const Point shift = (mesh_->sites()[j] - mesh_->sites()[i]) / options_.cell;
        for (int k = 0; k < 6; ++k) sum.row(k) += neighbour_weight * shifted(moments_[other].matrix.row(k), shift).transpose();
      }
      FitMatrix n;
      for (std::size_t k = 0; k < 6; ++k)
        for (std::size_t l = 0; l < 10; ++l) {
          const double v = sum(static_cast<Index>(k), static_cast<Index>(l));
          const auto [c, d] = of_three[k];
          const auto [p, q] = of_four[l];
          n(3 * p + c, 3 * q + d) = n(3 * p + d, 3 * q + c) = n(3 * q + c, 3 * p + d) = n(3 * q + d, 3 * p + c) = v;
        }
      if (options_.averages) n.bottomRows<9>().setZero(), n.rightCols<9>().setZero();
      const FitMatrix inverse = fit_inverse(n);
      std::size_t at = 0;
      for (int r = 0; r < 12; ++r)
        for (int c = r; c < 12; ++c) inverse_[e][at++] = inverse(r, c);
    }
  });
}

void CellVelocity::solve(bool more) {
  parallel_for(0, fitted_, fit_chunk, [&](Index begin, Index end) {
    for (Index e = begin; e < end; ++e) {
      const std::int32_t i = site_[e];
      Eigen::Matrix<double, 3, 4> sum = moments_[e].right;
      for (const std::int32_t f : mesh_->faces_of(i)) {
        const std::int32_t other = across(static_cast<std::int32_t>(e), f);
        if (other < 0) continue;
        const std::int32_t j = site_[other];
        const auto& r = moments_[other].right;
        const Point shift = (mesh_->sites()[j] - mesh_->sites()[i]) / options_.cell;
        sum += neighbour_weight * r;
        sum.rightCols<3>() += neighbour_weight * r.col(0) * shift.transpose();
      }
      Eigen::Matrix<double, 12, 1> x = Eigen::Matrix<double, 12, 1>::Zero();
      const Eigen::Map<const Eigen::Matrix<double, 12, 1>> b(sum.data());
      std::size_t at = 0;
      for (int r = 0; r < 12; ++r)
        for (int c = r; c < 12; ++c) {
          const double v = inverse_[e][at++];
          x[r] += v * b[c];
          if (c > r) x[c] += v * b[r];
        }
      const Eigen::Map<const Eigen::Matrix<double, 3, 4>> fitted(x.data());
      if (!more) u_[e].setZero(), gradient_[e].setZero();
      u_[e] += fitted.col(0);
      gradient_[e] += fitted.rightCols<3>() / options_.cell;
    }
  });
}

double CellVelocity::at_face(Index face, std::size_t side) const {
  const auto& [a, b] = mesh_->faces()[face];
  const Point &x = mesh_->centroids()[face], &n = mesh_->normals()[face];
  const std::int32_t p = head_[side == 0 ? a : b];
  if (b < 0) return n.dot(u_[p] + gradient_[p] * (x - mesh_->sites()[a]));
  const std::int32_t other = across(p, static_cast<std::int32_t>(face));
  // Two sites of the liquid with air between: what the own one says.
  if (other < 0) return n.dot(u_[p] + gradient_[p] * (x - mesh_->sites()[site_[p]]));
  const std::int32_t q = side == 0 ? other : p, first = side == 0 ? p : other;
  const Point middle = 0.5 * (mesh_->sites()[a] + mesh_->sites()[b]);
  const Point half = 0.25 * (mesh_->sites()[b] - mesh_->sites()[a]);
  const Point at_middle = 0.5 * (u_[first] + u_[q] + (gradient_[first] - gradient_[q]) * half);
  return n.dot(at_middle + 0.5 * (gradient_[first] + gradient_[q]) * (x - middle));
}

/// Layer by layer, the mean of the neighbours that are known.
void CellVelocity::extend() {
  std::int32_t first = 0;
  for (int layer = 0; layer < options_.layers; ++layer) {
    const auto end = static_cast<std::int32_t>(site_.size());
    for (std::int32_t e = first; e < end; ++e) {
      const std::int32_t i = site_[e];
      for (const std::int32_t f : mesh_->faces_of(i))
        if (!mesh_->faces()[f].on_wall()) add(mesh_->faces()[f].across(i), part_[e]);
    }
    const auto all = static_cast<std::int32_t>(site_.size());
    u_.resize(site_.size(), Point::Zero());
    gradient_.resize(site_.size(), Eigen::Matrix3d::Zero());
    parallel_for(end, all, fit_chunk, [&](Index b, Index e2) {
      for (Index e = b; e < e2; ++e) {
        const std::int32_t i = site_[e];
        Point sum = Point::Zero();
        double count = 0;
        for (const std::int32_t f : mesh_->faces_of(i)) {
          if (mesh_->faces()[f].on_wall()) continue;
          const std::int32_t other = find(mesh_->faces()[f].across(i), part_[e]);
          if (other < 0 || other >= end) continue;
          sum += u_[other];
          count += 1;
        }
        u_[e] = sum / count;
        gradient_[e].setZero();
      }
    });
    first = end;
    if (all == end) break;
  }
}

void CellVelocity::fit(const mesh::VoronoiMesh& mesh, const LiquidCells& cells, std::span<const FaceVelocity> velocity,
                       const CellVelocityOptions& options) {
  mesh_ = &mesh;
  cells_ = &cells;
  options_ = options;
  list_entries();
  const Index n = fitted_;
  moments_.resize(n);
  u_.assign(n, Point::Zero());
  gradient_.assign(n, Eigen::Matrix3d::Zero());
  sum_moments();
  invert();
  sum_right([&](Index f, std::size_t s) { return velocity[f][s]; });
  solve(false);
  for (int k = 0; k < options.corrections; ++k) {
    sum_right([&](Index f, std::size_t s) { return velocity[f][s] - at_face(f, s); });
    solve(true);
  }
  extend();
}

Index CellVelocity::nbytes() const {
  const auto of = [](const auto&... v) { return (static_cast<Index>(v.capacity() * sizeof(v[0])) + ...); };
  return of(head_, next_, site_, part_, member_start_, members_, first_of_part_, u_, gradient_, moments_, inverse_);
}

}  // namespace meniscus::fluids
