#include "meniscus/coupling/shells/near_triangles.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/particles/cell_images.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace meniscus::coupling {
namespace {

constexpr Index pieces_of_lattice = 64;
/// Half cells: what lies beyond a cell of samples by less is in it, and cells are widened by more than that.
constexpr double rounding_of_places = 1e-9;

}  // namespace

template <int D>
NearTriangles<D>::NearTriangles(const grid::Grid<D>& grid)
    : grid_(grid), per_half_(2 / grid.spacing()), pieces_(pieces_of_lattice) {
  for (std::size_t d = 0; d < D; ++d) extents_[d] = grid.local_shape()[d] + 2;
}

template <int D>
void NearTriangles<D>::find(const collision::ThickSurface& surface, const std::uint8_t* clearance) {
  const Coord<D>& cells = grid_.local_shape();
  const Index length = cells[D - 1], rows = product<D>(cells) / length;
  marked_rows_.resize(rows);
  parallel_for(0, rows, 64, [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r)
      marked_rows_[r] = std::memchr(clearance + r * length, 0, static_cast<std::size_t>(length)) != nullptr;
  });
  for (std::size_t stagger = 0; stagger <= D; ++stagger) find(surface, clearance, stagger);
}

template <int D>
void NearTriangles<D>::find(const collision::ThickSurface& surface, const std::uint8_t* clearance, std::size_t stagger) {
  const Coord<D>& cells = grid_.local_shape();
  const Coord<D> strides = c_strides<D>(cells);
  const Index length = extents_[D - 1], rows = product<D>(extents_) / length;
  const Index chunk = (rows + pieces_of_lattice - 1) / pieces_of_lattice;
  const double half = 0.5 * grid_.spacing();
  // The cells that a cell of samples lies in, along an axis: one, or halves of two. Beyond sides that do not close nobody looks.
  const auto cells_along = [&](std::size_t d, Index at, std::array<Index, 2>& out) {
    int count = 0;
    for (Index c = at; c <= at + (stagger != d); ++c) {
      const Index cell = grid::image_of_cell<D>(grid_, static_cast<int>(d), c);
      if (cell >= 0) out[count++] = cell;
    }
    return count;
  };
  parallel_for(0, rows, chunk, [&](Index begin, Index end) {
    Piece& piece = pieces_[begin / chunk];
    piece = {};
    std::vector<std::uint8_t> near(cells[D - 1]);
    for (Index r = begin; r < end; ++r) {
      Coord<D> at{};
      Index rest = r;
      for (std::size_t d = D - 1; d-- > 0; rest /= extents_[d]) at[d] = rest % extents_[d] - 1;
      // Which cells along the row have a mark in one of the rows that it lies in.
      std::array<std::array<Index, 2>, D> across{};
      std::array<int, D> count{};
      int combinations = 1;
      for (std::size_t d = 0; d + 1 < D; ++d) combinations *= count[d] = cells_along(d, at[d], across[d]);
      bool any = false;
      for (int q = 0; q < combinations; ++q) {
        Index first = 0;
        for (std::size_t d = 0, left = static_cast<std::size_t>(q); d + 1 < D; left /= static_cast<std::size_t>(count[d]), ++d)
          first += across[d][left % static_cast<std::size_t>(count[d])] * strides[d];
        if (!marked_rows_[first / cells[D - 1]]) continue;
        if (!any) std::fill(near.begin(), near.end(), std::uint8_t{0});
        any = true;
        for (Index k = 0; k < cells[D - 1]; ++k) near[k] |= clearance[first + k] == 0;
      }
      const std::size_t before = piece.place.size();
      for (Index k = -1; any && k < length - 1; ++k) {
        std::array<Index, 2> along;
        const int n = cells_along(D - 1, k, along);
        bool marked = false;
        for (int i = 0; i < n; ++i) marked |= near[along[i]] != 0;
        if (!marked) continue;
        at[D - 1] = k;
        mesh::Point low = mesh::Point::Zero(), high = low;
        for (std::size_t d = 0; d < D; ++d) {
          const auto i = static_cast<Index>(d);
          const auto place = static_cast<double>(corner(stagger, d, at[d]));
          low[i] = grid_.origin()[i] + (place - 2 * rounding_of_places) * half;
          high[i] = grid_.origin()[i] + (place + 2 + 2 * rounding_of_places) * half;
        }
        mesh::Box box;
        box.add(low);
        box.add(high);
        const std::size_t listed = piece.slots.size();
        surface.list_near(box, piece.slots);
        if (piece.slots.size() == listed) continue;
        piece.place.push_back(static_cast<std::int32_t>(k));
        piece.count.push_back(static_cast<std::int32_t>(piece.slots.size() - listed));
      }
      piece.cells_of_row.push_back(static_cast<std::int32_t>(piece.place.size() - before));
    }
  });
  Lattice& lattice = lattice_[stagger];
  lattice.first_of_row.assign(1, 0);
  lattice.first.assign(1, 0);
  lattice.place.clear();
  lattice.slots.clear();
  for (Index p = 0; p * chunk < rows; ++p) {
    const Piece& piece = pieces_[p];
    for (const std::int32_t n : piece.cells_of_row) lattice.first_of_row.push_back(lattice.first_of_row.back() + n);
    for (const std::int32_t n : piece.count) lattice.first.push_back(lattice.first.back() + n);
    lattice.place.insert(lattice.place.end(), piece.place.begin(), piece.place.end());
    lattice.slots.insert(lattice.slots.end(), piece.slots.begin(), piece.slots.end());
  }
}

template <int D>
std::optional<std::span<const std::int32_t>> NearTriangles<D>::within(const Point& low, const Point& high) const {
  std::array<Index, D> corner;
  std::size_t stagger = D, on_faces = 0;
  for (std::size_t d = 0; d < D; ++d) {
    const auto i = static_cast<Index>(d);
    const double a = (low[i] - grid_.origin()[i]) * per_half_ + rounding_of_places;
    const double end = (high[i] - grid_.origin()[i]) * per_half_ - rounding_of_places;
    if (!(std::abs(a) < 1e9)) return {};
    auto whole = static_cast<Index>(a);
    whole -= a < static_cast<double>(whole);
    // What is small enough for both is in the cell of centres.
    whole -= (whole & 1) == 0 && end <= static_cast<double>(whole + 1);
    if (end > static_cast<double>(whole + 2)) return {};
    // Nothing is listed beyond sides that do not close.
    const bool within_domain = whole >= 0 && whole < 2 * (extents_[d] - 2);
    if (!within_domain && grid::image_of_cell<D>(grid_, static_cast<int>(d), whole / 2) < 0) return {};
    corner[d] = whole;
    if ((whole & 1) == 0) {
      stagger = d;
      ++on_faces;
    }
  }
  if (on_faces > 1) return {};
  Index row = 0, last = 0;
  for (std::size_t d = 0; d < D; ++d) {
    const Index at = (corner[d] - (stagger != d)) / 2 + 1;
    if (at < 0 || at >= extents_[d]) return {};
    if (d + 1 < D)
      row = row * extents_[d] + at;
    else
      last = at - 1;
  }
  const Lattice& lattice = lattice_[stagger];
  auto cell = static_cast<std::size_t>(lattice.first_of_row[row]);
  // The last place that is not beyond this one; halves without branches, which could not be foreseen.
  auto left = static_cast<std::size_t>(lattice.first_of_row[static_cast<std::size_t>(row) + 1]) - cell;
  if (left == 0) return std::span<const std::int32_t>{};
  for (; left > 1; left -= left / 2) cell += lattice.place[cell + left / 2] <= last ? left / 2 : 0;
  if (lattice.place[cell] != last) return std::span<const std::int32_t>{};
  return std::span<const std::int32_t>(lattice.slots)
      .subspan(lattice.first[cell], static_cast<std::size_t>(lattice.first[cell + 1] - lattice.first[cell]));
}

template <int D>
std::size_t NearTriangles<D>::bytes() const {
  std::size_t n = marked_rows_.size();
  for (const Lattice& l : lattice_) n += 4 * (l.first_of_row.size() + l.place.size() + l.first.size() + l.slots.size());
  return n;
}

template class NearTriangles<2>;
template class NearTriangles<3>;

}  // namespace meniscus::coupling
