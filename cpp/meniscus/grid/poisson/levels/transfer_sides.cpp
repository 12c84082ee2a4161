// Transfers between levels along the sides of the domain: the ghosts of corrections.
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/poisson/poisson_transfer.hpp"

#include <cmath>
#include <cstring>

namespace meniscus::grid {

template <int D>
std::size_t PoissonTransfer<D>::place_on_side(int axis, const Coord<D>& block) const {
  Index place = 0;
  for (int d = 0; d < D; ++d)
    if (d != axis) place = place * coarse_.cells[d] + block[d];
  return static_cast<std::size_t>(place);
}

template <int D>
float PoissonTransfer<D>::mirror_of(const Coord<D>& block, int axis, int side) const {
  const Index d = axis;
  const std::vector<float>& mirrors = mirrors_[2 * d + static_cast<std::size_t>(side)];
  if (mirrors.empty() || block[d] != (side ? coarse_.cells[d] - 1 : 0)) return 0;
  return mirrors[place_on_side(axis, block)];
}

template <int D>
template <class Body>
void PoissonTransfer<D>::for_each_side_row(Body&& body) const {
  for (int d = 0; d < D; ++d)
    for (int side = 0; side < 2; ++side) {
      const auto axis = static_cast<std::size_t>(d);
      const std::vector<float>& mirrors = mirrors_[2 * axis + static_cast<std::size_t>(side)];
      if (mirrors.empty()) continue;
      const Index count = d == D - 1 ? 1 : coarse_.cells[D - 1];
      const auto rows = static_cast<Index>(mirrors.size()) / count;
      parallel_for(0, rows, std::max<Index>(1, 4096 / count), [&](Index begin, Index end) {
        for (Index r = begin; r < end; ++r) {
          Coord<D> block{};
          Index rest = r;
          for (int k = D - 2; k >= 0; --k)
            if (k != d) {
              const Index other = k;
              block[other] = rest % coarse_.cells[other];
              rest /= coarse_.cells[other];
            }
          block[axis] = side ? coarse_.cells[axis] - 1 : 0;
          body(d, side, mirrors.data() + r * count, block, count);
        }
      });
    }
}

template <int D>
void PoissonTransfer<D>::mirror(float* x) const {
  for_each_side_row([&](int d, int side, const float* factor, const Coord<D>& block, Index count) {
    const Index s = coarse_.strides[d];
    const float* from = x + coarse_.index(block);
    float* ghost = x + coarse_.index(block) + (side ? s : -s);
    for (Index k = 0; k < count; ++k) ghost[k] = factor[k] * from[k];
  });
}

template <int D>
void PoissonTransfer<D>::clear_mirrors(float* x) const {
  for_each_side_row([&](int d, int side, const float*, const Coord<D>& block, Index count) {
    const Index s = coarse_.strides[d];
    std::memset(x + coarse_.index(block) + (side ? s : -s), 0, static_cast<std::size_t>(count) * sizeof(float));
  });
}

template <int D>
void PoissonTransfer<D>::restrict_mirrors(const float* residual, float* b) const {
  for_each_side_row([&](int d, int side, const float* factor, const Coord<D>& block, Index count) {
    const auto axis = static_cast<std::size_t>(d);
    float* to = b + coarse_.index(block);
    Coord<D> first;
    for (std::size_t k = 0; k < D; ++k) first[k] = 2 * block[k];
    if (side) ++first[axis];
    // The children that touch the side: two along every other axis.
    std::array<Index, D> step{};
    std::size_t others = 0;
    for (std::size_t k = 0; k < D; ++k)
      if (k != axis) step[others++] = fine_.strides[k];
    const float* from = residual + fine_.index(first);
    for (Index k = 0; k < count; ++k) {
      const float* r = from + 2 * k;
      float sum = r[0] + r[step[0]];
      if constexpr (D == 3) sum += r[step[1]] + r[step[0] + step[1]];
      to[k] += 0.25f * factor[k] * sum;
    }
  });
}

template <int D>
bool PoissonTransfer<D>::find_mirrors(const FaceMatrix<float, D>& fine, const BlockGeometry<D>& geometry,
                                      const CellJoining<D>& joining, const Coord<D>& block) {
  const Index index = coarse_.index(block);
  if (!(joining.state[index] & CellJoining<D>::full)) return false;
  int sides = 0, last = 0;
  for (int d = 0; d < D; ++d) {
    const auto axis = static_cast<std::size_t>(d);
    for (int side = 0; side < 2; ++side) {
      const bool end = block[axis] == (side ? coarse_.cells[axis] - 1 : 0);
      if (end && !coarse_.shared(d, side)) {
        ++sides;
        last = 2 * d + side;
      } else if (!(joining.links[side ? index + coarse_.strides[axis] : index] & CellJoining<D>::link(d)) ||
                 (end && coarse_.cells[axis] < 3)) {
        return false;
      }
    }
  }
  if (sides == 0) return true;
  std::array<float, 2 * D> mirror;
  mirror.fill(1.0f);
  bool any_fixed = false;
  for (int c = 0; c < BlockGeometry<D>::children; ++c)
    any_fixed |= dirichlet_coupling<float, D>(fine, geometry.child(block, c)) > 0;
  if (any_fixed) {
    // At edges nobody says on which of the sides the value is given.
    if (sides > 1) return false;
    const int d = last / 2, side = last % 2;
    const Index s = fine.layout.strides[d];
    float inner = 0, fixed = 0;
    for (int c = 0; c < BlockGeometry<D>::children; ++c) {
      if (((c >> d) & 1) != side) continue;
      const Index i = geometry.child(block, c);
      const float in = fine.face(d, side ? i : i + s), out = dirichlet_coupling<float, D>(fine, i);
      constexpr float same = 1e-3f;
      if (inner == 0) {
        inner = in;
        fixed = out;
      } else if (std::abs(in - inner) > same * inner || std::abs(out - fixed) > same * fixed) {
        return false;
      }
    }
    if (fixed <= 0) return false;
    // The weight of the zero; not so much that nothing is left for the own cell.
    const float weight = std::min(1.0f / D, (0.5f / inner) / (0.5f / inner + 1 / fixed));
    mirror[last] = 1 - 4 * weight;
  }
  for (int d = 0; d < D; ++d)
    for (int side = 0; side < 2; ++side) {
      const auto axis = static_cast<std::size_t>(d);
      auto& mirrors = mirrors_[2 * axis + static_cast<std::size_t>(side)];
      if (!mirrors.empty() && block[axis] == (side ? coarse_.cells[axis] - 1 : 0))
        mirrors[place_on_side(d, block)] = mirror[2 * axis + static_cast<std::size_t>(side)];
    }
  return true;
}

#define MENISCUS_INSTANTIATE(D)                                                                                               \
  template float PoissonTransfer<D>::mirror_of(const Coord<D>&, int, int) const;                                              \
  template std::size_t PoissonTransfer<D>::place_on_side(int, const Coord<D>&) const;                                         \
  template void PoissonTransfer<D>::mirror(float*) const;                                                                     \
  template void PoissonTransfer<D>::clear_mirrors(float*) const;                                                              \
  template void PoissonTransfer<D>::restrict_mirrors(const float*, float*) const;                                             \
  template bool PoissonTransfer<D>::find_mirrors(const FaceMatrix<float, D>&, const BlockGeometry<D>&, const CellJoining<D>&, \
                                                 const Coord<D>&);
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
