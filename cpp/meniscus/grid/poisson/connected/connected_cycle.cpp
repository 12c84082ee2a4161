#include "meniscus/grid/poisson/connected/connected_cycle.hpp"

#include <limits>

namespace meniscus::grid {
namespace {

/// Coordinate of a cell along an axis, from its place.
template <int D>
Index coordinate(const CellLayout<D>& layout, Index place, std::size_t axis) {
  Index rest = place - layout.origin;
  for (std::size_t d = 0; d < axis; ++d) rest %= layout.strides[d];
  return rest / layout.strides[axis];
}

}  // namespace

/// All coefficients of the domain, from the blocks that have them.
template <int D>
void ConnectedCycle<D>::gather(const FaceMatrix<double, D>& a, std::array<Block<double>, D>& faces, Block<double>& diagonal) {
  if (!window_ || !(own_layout_ == a.layout)) window_.emplace(a.layout, std::numeric_limits<Index>::max());
  own_layout_ = a.layout;
  LevelWindow<D>& window = *window_;
  const Index size = window.layout().size;
  const auto take = [&](const parallel::IndexBox<D>& box, const Block<double>& from, Block<double>& to) {
    to = Block<double>(size);
    std::fill(to.begin(), to.end(), 0.0);
    copy_box<D>(box, a.layout, a.layout.first, from.data(), window.layout(), window.first(), to.data());
  };
  if (a.has_faces)
    for (int d = 0; d < D; ++d) {
      take(window.own_faces(d), a.faces[d], faces[d]);
      window.fill_faces(d, faces[d].data());
    }
  take(window.own(), a.diagonal, diagonal);
  window.fill(diagonal.data());
  if (gathered_.size() != size) gathered_ = Block<double>(size);
}

template <int D>
void ConnectedCycle<D>::assemble(const FaceMatrix<double, D>& a, const Parts& parts) {
  const CellLayout<D>& layout = *parts.layout;
  const Index length = layout.cells[D - 1];
  std::vector<std::int32_t> number(layout.size, -1);
  place_.clear();
  for (Index r = 0; r < layout.rows(); ++r)
    for (Index i = layout.row(r); i < layout.row(r) + length; ++i)
      if (parts.diagonal[i] > 0) {
        number[i] = static_cast<std::int32_t>(place_.size());
        place_.push_back(i);
      }
  const auto n = static_cast<Index>(place_.size());
  const auto coefficient = [&](std::size_t d, Index i) { return a.has_faces ? parts.faces[d][i] : a.open_coupling[d]; };
  // Calls f(number of the neighbour, coefficient). Ghosts have no number: around a periodic axis the last cell is the neighbour.
  const auto for_neighbours = [&](Index i, auto&& f) {
    for (std::size_t d = 0; d < D; ++d) {
      const Index s = layout.strides[d], around = (layout.cells[d] - 1) * s;
      if (layout.single_cell_ring(d)) continue;
      const Index c = coordinate(layout, i, d);
      Index below = i - s, above = i + s;
      if (c == 0) below = layout.periodic[d] ? i + around : -1;
      if (c + 1 == layout.cells[d]) above = layout.periodic[d] ? i - around : -1;
      double w = coefficient(d, i);
      const double w_above = coefficient(d, i + s);
      // Two cells around a periodic axis are neighbours twice.
      if (below == above) w += w_above;
      if (below >= 0 && number[below] >= 0 && w > 0) f(number[below], w);
      if (below != above && above >= 0 && number[above] >= 0 && w_above > 0) f(number[above], w_above);
    }
  };
  rows_.columns = n;
  rows_.start.assign(n + 1, 0);
  numerics::for_rows(n, [&](Index k) {
    Index count = 1;
    for_neighbours(place_[k], [&](std::int32_t, double) { ++count; });
    rows_.start[k + 1] = count;
  });
  rows_.make_room();
  numerics::for_rows(n, [&](Index k) {
    Index at = rows_.start[k];
    rows_.column[at] = static_cast<std::int32_t>(k);
    rows_.value[at++] = parts.diagonal[place_[k]];
    for_neighbours(place_[k], [&](std::int32_t j, double w) {
      rows_.column[at] = j;
      rows_.value[at++] = -w;
    });
  });
}

template <int D>
void ConnectedCycle<D>::build(const FaceMatrix<double, D>& a) {
  built_ = false;
  std::array<Block<double>, D> faces;
  Block<double> diagonal;
  Parts parts{&a.layout, {}, a.diagonal.data()};
  const bool cut = a.layout.halo.block().cut();
  if (cut) {
    gather(a, faces, diagonal);
    parts.layout = &window_->layout();
    parts.diagonal = diagonal.data();
  } else {
    window_.reset();
  }
  if (a.has_faces)
    for (std::size_t d = 0; d < D; ++d) parts.faces[d] = cut ? faces[d].data() : a.faces[d].data();
  assemble(a, parts);
  const std::size_t n = place_.size();
  r_.resize(n);
  z_.resize(n);
  own_.clear();
  if (cut)
    for (std::size_t k = 0; k < n; ++k) {
      Coord<D> c;
      bool own = true;
      for (std::size_t d = 0; d < D; ++d) {
        c[d] = coordinate(window_->layout(), place_[k], d) - a.layout.first[d];
        own = own && c[d] >= 0 && c[d] < a.layout.cells[d];
      }
      if (own) own_.push_back({static_cast<Index>(k), a.layout.index(c)});
    }
  multigrid_.build(rows_, numerics::AlgebraicMultigridOptions());
  built_ = true;
}

template <int D>
void ConnectedCycle<D>::apply(const Block<double>& r, Block<double>& z) {
  const auto n = static_cast<Index>(place_.size());
  const double* from = r.data();
  if (window_) {
    copy_box<D>(window_->own(), own_layout_, own_layout_.first, from, window_->layout(), window_->first(), gathered_.data());
    window_->fill(gathered_.data());
    from = gathered_.data();
  }
  numerics::for_rows(n, [&](Index k) { r_[k] = from[place_[k]]; });
  multigrid_.precondition(r_.data(), z_.data());
  if (window_)
    numerics::for_rows(static_cast<Index>(own_.size()), [&](Index k) { z[own_[k][1]] = z_[own_[k][0]]; });
  else
    numerics::for_rows(n, [&](Index k) { z[place_[k]] = z_[k]; });
}

template <int D>
Index ConnectedCycle<D>::bytes() const {
  const auto of = [](const auto& v) { return static_cast<Index>(v.capacity() * sizeof(v[0])); };
  return rows_.bytes() + multigrid_.bytes() + of(place_) + of(r_) + of(z_) + of(own_) + 8 * gathered_.size();
}

template class ConnectedCycle<2>;
template class ConnectedCycle<3>;

}  // namespace meniscus::grid
