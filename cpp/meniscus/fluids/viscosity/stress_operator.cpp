/// The linear operator of free-surface viscosity: stresses of faces, forces of stresses, and what conjugate gradients ask for.
#include "meniscus/core/simd.hpp"
#include "meniscus/fluids/pressure/solid_faces.hpp"
#include "meniscus/fluids/viscosity/free_surface_viscosity.hpp"
#include "meniscus/parallel/binned_reductions.hpp"
#include "meniscus/parallel/reductions.hpp"

namespace meniscus::fluids {

template <int D>
void LiquidViscositySolver<D>::find_stresses(Vector& faces) {
  exchange_all(faces.data(), D);
  const double *u = faces.data(), *w = weight_.data();
  double* tau = stress_.data();
  const Index size = layout_.size;
  const Coord<D> s = layout_.strides;
  for_each_cell_row<D>(layout_, [=](const Coord<D>&, Index first, Index count) {
    simd_dispatch([=] {
      for (int a = 0; a < D; ++a) {
        const double *ua = u + a * size + first, *next = ua + s[a], *wa = w + a * size + first;
        double* to = tau + a * size + first;
        for (Index k = 0; k < count; ++k) to[k] = wa[k] * (next[k] - ua[k]);
        for (int b = a + 1; b < D; ++b) {
          const Index pair = (D + pair_of(a, b)) * size + first;
          const double *ub = u + b * size + first, *wab = w + pair;
          const double *a_below = ua - s[b], *b_below = ub - s[a];
          double* shear = tau + pair;
          for (Index k = 0; k < count; ++k) shear[k] = wab[k] * ((ua[k] - a_below[k]) + (ub[k] - b_below[k]));
        }
      }
    });
  });
  exchange_all(stress_.data(), stresses);
}

template <int D>
void LiquidViscositySolver<D>::gather(const double* faces, double* to) const {
  const double *tau = stress_.data(), *mass = mass_.data();
  const std::uint8_t* unknown = unknown_.data();
  const Index size = layout_.size;
  const Coord<D> s = layout_.strides;
  for_each_cell_row<D>(layout_, [=](const Coord<D>&, Index first, Index count) {
    simd_dispatch([=] {
      for (int a = 0; a < D; ++a) {
        const Index at = a * size + first;
        const double *here = tau + at, *below = here - s[a];
        double* q = to + at;
        for (Index k = 0; k < count; ++k) q[k] = below[k] - here[k];
        for (int b = 0; b < D; ++b) {
          if (b == a) continue;
          const double *lower = tau + (D + pair_of(a, b)) * size + first, *upper = lower + s[b];
          for (Index k = 0; k < count; ++k) q[k] += lower[k] - upper[k];
        }
        if (faces)
          for (Index k = 0; k < count; ++k) q[k] += mass[at + k] * faces[at + k];
        for (Index k = 0; k < count; ++k) q[k] = unknown[at + k] ? q[k] : 0.0;
      }
    });
  });
}

template <int D>
double LiquidViscositySolver<D>::inner_product(const Vector& u, const Vector& v) const {
  // Of one of the two, only unknowns are not zero.
  if (!order_free_) return numerics::inner_product(u, v);
  return parallel::global_sum(*grid_.communicator(), numerics::order_free_product(u, v));
}

template <int D>
void LiquidViscositySolver<D>::multiply(Vector& p, Vector& q) {
  find_stresses(p);
  gather(p.data(), q.data());
}

template <int D>
void LiquidViscositySolver<D>::precondition(const Vector& r, Correction& z) {
  const double *from = r.data(), *scale = inverse_diagonal_.data();
  double* to = z.data();
  if (multigrid_) {
    components_.apply(from, to);
    return;
  }
  parallel_for(0, r.size(), 1 << 14, [=](Index begin, Index end) {
    simd_dispatch([=] {
      for (Index i = begin; i < end; ++i) to[i] = scale[i] * from[i];
    });
  });
}

#define MENISCUS_INSTANTIATE(D)                                                     \
  template void LiquidViscositySolver<D>::find_stresses(Vector&);                   \
  template void LiquidViscositySolver<D>::gather(const double*, double*) const;     \
  template void LiquidViscositySolver<D>::multiply(Vector&, Vector&);               \
  template void LiquidViscositySolver<D>::precondition(const Vector&, Correction&); \
  template double LiquidViscositySolver<D>::inner_product(const Vector&, const Vector&) const;
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
