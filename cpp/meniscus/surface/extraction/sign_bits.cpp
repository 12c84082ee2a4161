#include "meniscus/surface/extraction/sign_bits.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/grid/field_checks.hpp"
#include "meniscus/parallel/reductions.hpp"

#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

namespace meniscus::surface {
namespace {

/// The lowest bits of 64 bytes, each 0 or 1.
MENISCUS_INLINE std::uint64_t packed(const std::uint8_t* flags) {
  std::uint64_t bits = 0;
  for (int b = 0; b < 8; ++b) {
    std::uint64_t eight;
    std::memcpy(&eight, flags + 8 * b, 8);
    // The product brings byte i to bit 56 + i; no two terms meet, so nothing is carried. Little-endian, as all of the binary.
    bits |= (eight * 0x0102040810204080ULL >> 56) << (8 * b);
  }
  return bits;
}

/// The bits of n <= 64 samples; false if one is not finite.
template <class T>
MENISCUS_INLINE bool flag(const T* p, Index n, std::uint8_t* flags) {
  std::uint8_t wrong = 0;
  for (Index i = 0; i < n; ++i) {
    flags[i] = p[i] <= T(0);
    wrong = static_cast<std::uint8_t>(wrong | !(std::abs(p[i]) <= std::numeric_limits<T>::max()));
  }
  return wrong == 0;
}

/// The same of samples that `made_of` makes of those of two rows.
template <class T, class MadeOf>
MENISCUS_INLINE bool flag_made(const T* p, const T* q, MadeOf&& made_of, Index n, std::uint8_t* flags) {
  const auto largest = static_cast<double>(std::numeric_limits<T>::max());
  std::uint8_t wrong = 0;
  for (Index i = 0; i < n; ++i) {
    const auto a = static_cast<double>(p[i]), b = static_cast<double>(q[i]);
    flags[i] = made_of(a, b) <= 0;
    wrong = static_cast<std::uint8_t>(wrong | !(std::abs(a) <= largest) | !(std::abs(b) <= largest));
  }
  return wrong == 0;
}

}  // namespace

template <int D>
template <class T>
SignBits<D>::SignBits(const grid::Field<T, D>& phi, const LevelSetLattice<T, D>& lattice, Workspace& workspace)
    : extents_(lattice.extents()), words_((extents_[D - 1] + 63) / 64), rows_(product<D>(extents_) / extents_[D - 1]) {
  Index stride = 1;
  for (int d = D - 2; d >= 0; --d) {
    strides_[d] = stride;
    stride *= extents_[d];
  }
  bits_ = workspace.take<std::uint64_t>(rows_ * words_);
  const Index first = lattice.first(D - 1);
  const Index end = lattice.end(D - 1);
  const Index length = extents_[D - 1];
  std::atomic<bool> finite{true};
  parallel_for(0, rows_, std::max<Index>(1, 8192 / length), [&](Index begin_row, Index end_row) {
    bool fine = true;
    for (Index r = begin_row; r < end_row; ++r) {
      Coord<D> c = lattice_row<D>(extents_, r);
      std::uint64_t* out = bits_.data() + r * words_;
      const auto rows = lattice.rows(c);
      const T* const p = rows.first[0];
      const auto value = [&](Index k) {
        c[D - 1] = k;
        return lattice.value(c);
      };
      if (!p) {
        for (Index w = 0; w < words_; ++w) {
          std::uint64_t bits = 0;
          for (Index k = 64 * w; k < std::min(64 * w + 64, length); ++k)
            bits |= static_cast<std::uint64_t>(value(k) <= 0) << (k - 64 * w);
          out[w] = bits;
        }
        continue;
      }
      const T* const q = rows.first[1];
      const auto flag_row = [&](Index from, Index n, std::uint8_t* to) {
        const auto made_of = [&](double a, double b) { return lattice.made_of(a, b, rows.weight); };
        return p == q ? flag<T>(p + from, n, to) : flag_made<T>(p + from, q + from, made_of, n, to);
      };
      simd_dispatch([&] {
        alignas(64) std::uint8_t flags[64];
        for (Index w = 0; w < words_; ++w) {
          const Index from = std::max(64 * w, first);
          const Index to = std::min(64 * w + 64, end);
          if (from == 64 * w && to == from + 64) {
            fine = flag_row(from - first, 64, flags) && fine;
          } else {
            std::memset(flags, 0, sizeof flags);
            if (from < to) fine = flag_row(from - first, to - from, flags + (from - 64 * w)) && fine;
          }
          out[w] = packed(flags);
        }
      });
      const auto set = [&](Index k) { out[k >> 6] |= static_cast<std::uint64_t>(value(k) <= 0) << (k & 63); };
      if (first == 1) set(0);
      if (end < length) set(length - 1);
    }
    if (!fine) finite.store(false, std::memory_order_relaxed);
  });
  if (parallel::global_any(*phi.grid().communicator(), !finite)) {
    require_finite(phi, "phi");
    require(false, "phi must be finite, but a sample of another block is not");
  }
}

template class SignBits<2>;
template class SignBits<3>;
template SignBits<2>::SignBits(const grid::Field<double, 2>&, const LevelSetLattice<double, 2>&, Workspace&);
template SignBits<3>::SignBits(const grid::Field<float, 3>&, const LevelSetLattice<float, 3>&, Workspace&);
template SignBits<3>::SignBits(const grid::Field<double, 3>&, const LevelSetLattice<double, 3>&, Workspace&);

}  // namespace meniscus::surface
