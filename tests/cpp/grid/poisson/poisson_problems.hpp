// Poisson matrices that together cover every branch of the hierarchy.
#pragma once

#include "meniscus/core/random.hpp"
#include "meniscus/grid/poisson/face_fractions.hpp"
#include "meniscus/grid/poisson/poisson_assembly.hpp"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace meniscus::testing {

/// Reproducible numbers in [-1, 1].
inline double noise(std::uint64_t seed, std::uint64_t id) { return 2 * CounterRandom(seed, id, 0).uniform2(0)[0] - 1; }

template <int D>
struct PoissonProblem {
  std::string name;
  grid::CellLayout<D> layout;
  /// Without faces: the coefficients on the sides of the domain, for `assemble_open`.
  bool has_faces = true;
  std::array<double, 2 * D> sides{};
  /// Coefficient on the face below a cell along an axis, sides of the domain included.
  std::function<double(int axis, const Coord<D>& upper)> coefficient;
  std::function<bool(const Coord<D>&)> unknown = [](const Coord<D>&) { return true; };
  /// Of every unknown; only with faces.
  double mass = 0;
};

template <int D>
void fill(const PoissonProblem<D>& problem, grid::FaceMatrix<double, D>& a, grid::RowChanges<D>* changes = nullptr) {
  const grid::CellLayout<D>& layout = problem.layout;
  grid::fit(a, layout, problem.has_faces);
  // Indices of cells and ghosts are told apart by their coordinates.
  const auto coordinate = [&](Index i) {
    Coord<D> c;
    Index rest = i - layout.origin;
    for (std::size_t d = 0; d < D; ++d) {
      c[d] = rest / layout.strides[d];
      rest %= layout.strides[d];
    }
    return c;
  };
  const auto unknown = [&](Index i) { return problem.unknown(coordinate(i)); };
  if (!problem.has_faces) {
    grid::assemble_open<D>(a, problem.sides, unknown, changes);
    return;
  }
  a.open_coupling.fill(1.0);
  grid::assemble<D>(
      a,
      [&](int d, Index lower, Index upper, int side) -> double {
        const auto axis = static_cast<std::size_t>(d);
        if (layout.single_cell_ring(axis)) return 0.0;
        Coord<D> c = side >= 0 && side % 2 ? coordinate(lower) : coordinate(upper);
        if (side >= 0 && side % 2) ++c[axis];
        // On a periodic axis the last face is the first.
        if (layout.halo.block().own_neighbour(d) && c[axis] == layout.cells[axis]) c[axis] = 0;
        return problem.coefficient(d, c);
      },
      unknown, problem.mass, changes);
}

template <int D>
Coord<D> shape_of(const std::vector<Index>& n) {
  Coord<D> c;
  for (std::size_t d = 0; d < D; ++d) c[d] = n[d];
  return c;
}

template <int D>
bool on_side(const grid::CellLayout<D>& layout, int axis, const Coord<D>& upper) {
  const auto d = static_cast<std::size_t>(axis);
  return !layout.periodic[d] && (upper[d] == 0 || upper[d] == layout.cells[d]);
}

template <int D>
std::vector<PoissonProblem<D>> poisson_problems() {
  using Problem = PoissonProblem<D>;
  std::vector<Problem> all;
  const Coord<D> odd = D == 2 ? shape_of<D>({37, 53}) : shape_of<D>({13, 17, 23});
  const Coord<D> even = D == 2 ? shape_of<D>({48, 32}) : shape_of<D>({16, 24, 20});
  const Coord<D> thin = D == 2 ? shape_of<D>({1, 131}) : shape_of<D>({1, 2, 97});
  std::array<bool, D> none{}, around{}, last{};
  around.fill(true);
  last[D - 1] = true;
  std::array<double, 2 * D> one_open{};
  one_open[1] = 2;
  // Sweeps over many planes go slab by slab.
  const Coord<D> many = D == 2 ? shape_of<D>({300, 500}) : shape_of<D>({41, 43, 67});
  for (const auto& [shape, label] :
       {std::pair(odd, "odd"), std::pair(even, "even"), std::pair(thin, "thin"), std::pair(many, "slabs")}) {
    const std::string suffix = std::string(" ") + label;
    for (const auto& [periodic, kind] :
         {std::pair(none, "bounded"), std::pair(last, "one period"), std::pair(around, "periodic")}) {
      const std::string name = kind + suffix;
      Problem box{"box, " + name, grid::CellLayout<D>(shape, periodic), false, {}, {}};
      all.push_back(box);
      box.name = "open box, " + name;
      box.sides = one_open;
      all.push_back(box);
      box.name = "droplets, " + name;
      box.unknown = [](const Coord<D>& c) { return noise(5, static_cast<std::uint64_t>(c[0] * 10007 + c[D - 1])) > -0.4; };
      all.push_back(box);

      Problem cut{"cut cells, " + name, grid::CellLayout<D>(shape, periodic), true, {}, {}};
      cut.coefficient = [layout = cut.layout](int d, const Coord<D>& c) {
        if (on_side<D>(layout, d, c)) return 0.0;
        // Distance from a ball, in cells, as the open part.
        double r = 0;
        for (std::size_t k = 0; k < D; ++k) {
          const double at = static_cast<double>(c[k]) + (static_cast<int>(k) == d ? 0.0 : 0.5);
          r += std::pow(at - 0.45 * static_cast<double>(layout.cells[k]), 2);
        }
        const double open = std::sqrt(r) - 0.3 * static_cast<double>(layout.cells[D - 1]) + 0.5;
        return open < 1e-4 ? 0.0 : std::min(open, 1.0);
      };
      all.push_back(cut);

      Problem rough{"ratio 1000, " + name, grid::CellLayout<D>(shape, periodic), true, {}, {}};
      rough.coefficient = [](int d, const Coord<D>& c) {
        std::uint64_t id = static_cast<std::uint64_t>(d);
        for (const Index k : c) id = id * 1009 + static_cast<std::uint64_t>(k);
        return std::pow(10.0, 1.5 * noise(6, id));
      };
      all.push_back(rough);

      // Half of all faces closed: regions of any shape, pairs of cells across the seam of a periodic axis among them.
      Problem bonds{"half the faces, " + name, grid::CellLayout<D>(shape, periodic), true, {}, {}};
      bonds.coefficient = [](int d, const Coord<D>& c) {
        std::uint64_t id = static_cast<std::uint64_t>(d);
        for (const Index k : c) id = id * 1009 + static_cast<std::uint64_t>(k);
        return noise(7, id) > 0 ? 1.0 : 0.0;
      };
      all.push_back(bonds);

      // Walls as thin as a face, across two axes and at odd places, so that blocks of all levels are cut.
      Problem walls{"thin walls, " + name, grid::CellLayout<D>(shape, periodic), true, {}, {}};
      walls.coefficient = [layout = walls.layout](int d, const Coord<D>& c) {
        if (on_side<D>(layout, d, c)) return 0.0;
        const Index n = layout.cells[d];
        const Index at = c[d];
        if (d == D - 1) return at == 0 || at == n / 3 || at == n / 3 + 1 || at == (2 * n) / 3 ? 0.0 : 1.0;
        if (d == 0) return at == n / 2 ? 0.0 : 1.0;
        return 1.0;
      };
      all.push_back(walls);

      // A slanted wall of faces, with an opening in the upper of the two regions' sides.
      Problem slanted{"slanted wall, " + name, grid::CellLayout<D>(shape, periodic), true, {}, {}};
      slanted.coefficient = [layout = slanted.layout](int d, const Coord<D>& c) {
        const auto axis = static_cast<std::size_t>(d);
        if (on_side<D>(layout, d, c)) return d == 0 && c[0] == layout.cells[0] ? 2.0 : 0.0;
        Coord<D> below = c;
        below[axis] = c[axis] == 0 ? layout.cells[axis] - 1 : c[axis] - 1;
        const auto side = [&](const Coord<D>& k) { return 3 * k[0] + 2 * k[D - 1] > layout.cells[0] + layout.cells[D - 1]; };
        return side(c) == side(below) ? 1.0 : 0.0;
      };
      all.push_back(slanted);
    }
  }
  return all;
}

}  // namespace meniscus::testing
