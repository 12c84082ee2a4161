#include "meniscus/collision/continuous/root_parity.hpp"

#include "meniscus/collision/continuous/ccd_exact.hpp"
#include "meniscus/collision/continuous/ray_parity.hpp"
#include "meniscus/core/random.hpp"
#include "meniscus/numerics/fixed_integer.hpp"

#include <optional>

namespace meniscus::collision {
namespace {

/// Bits of an integer of the highest degree in differences of `width` bits (six for patches, twelve for flat ones), with sums and
/// with the small numbers of a ray.
constexpr int needed_bits_of_roots(int width) { return 13 * (width + 4) + 64; }

using NarrowRoots = numerics::FixedInteger<40>;
using WideRoots = numerics::FixedInteger<430>;
static_assert(needed_bits_of_roots(2098) <= WideRoots::capacity_bits);

/// Rays are tried until one meets no edge. Almost all do: of those with components up to `ray_size`, only the ones in a few
/// planes fail.
constexpr unsigned max_rays = 64;
constexpr std::int64_t ray_size = 1 << 20;
constexpr std::uint64_t ray_seed = 20120701;

template <class Z>
class RayCaster {
 public:
  using V = ExactVector<Z>;

  RayCaster(PairKind kind, const std::array<mesh::Point, 4>& start, const std::array<mesh::Point, 4>& end, int low) {
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t d = 0; d < 3; ++d) {
        point_[0][i][d] = Z::scaled(start[i][static_cast<int>(d)], low);
        point_[1][i][d] = Z::scaled(end[i][static_cast<int>(d)], low);
      }
    if (kind == PairKind::vertex_face)
      add_prism();
    else
      add_cube();
  }

  /// Zero is on the border, or the number of zeros within is odd. No value if the sequence of rays is exhausted.
  std::optional<bool> collides(unsigned first_ray) const {
    if (border_.contain_zero()) return true;
    for (unsigned k = 0; k < max_rays; ++k) {
      const Philox4 random = CounterRandom(ray_seed, first_ray + k, 0).words(0);
      V ray;
      for (std::size_t d = 0; d < 3; ++d) ray[d] = Z(static_cast<std::int64_t>(random[d] % (2 * ray_size + 1)) - ray_size);
      if (const std::optional<bool> odd = border_.crossed_oddly(ray)) return odd;
    }
    return std::nullopt;
  }

 private:
  /// Corners of the image: the difference of points i and j at the start or the end.
  V corner(std::size_t when, std::size_t i, std::size_t j) const { return point_[when][i] - point_[when][j]; }

  void add_prism() {
    std::array<std::array<V, 3>, 2> c;
    for (std::size_t when = 0; when < 2; ++when) {
      for (std::size_t k = 0; k < 3; ++k) c[when][k] = corner(when, 0, k + 1);
      border_.add_face(c[when][0], c[when][1], c[when][2]);
    }
    for (std::size_t k = 0; k < 3; ++k) {
      const std::size_t next = (k + 1) % 3;
      border_.add_patch(c[0][k], c[0][next], c[1][k], c[1][next]);
    }
  }

  void add_cube() {
    std::array<std::array<std::array<V, 2>, 2>, 2> c;
    for (std::size_t when = 0; when < 2; ++when)
      for (std::size_t a = 0; a < 2; ++a)
        for (std::size_t b = 0; b < 2; ++b) c[when][a][b] = corner(when, a, 2 + b);
    for (std::size_t k = 0; k < 2; ++k) {
      border_.add_patch(c[k][0][0], c[k][0][1], c[k][1][0], c[k][1][1]);
      border_.add_patch(c[0][k][0], c[0][k][1], c[1][k][0], c[1][k][1]);
      border_.add_patch(c[0][0][k], c[0][1][k], c[1][0][k], c[1][1][k]);
    }
  }

  std::array<std::array<V, 4>, 2> point_;
  /// The image of the border.
  RayTargets<Z> border_;
};

}  // namespace

bool root_parity(PairKind kind, const std::array<mesh::Point, 4>& start, const std::array<mesh::Point, 4>& end,
                 unsigned first_ray) {
  numerics::BitRange range;
  for (const auto* points : {&start, &end})
    for (const mesh::Point& x : *points)
      for (const double c : x) range.add(c);
  if (range.empty()) return true;
  const bool narrow = needed_bits_of_roots(range.width()) <= NarrowRoots::capacity_bits;
  const std::optional<bool> answer = narrow ? RayCaster<NarrowRoots>(kind, start, end, range.low).collides(first_ray)
                                            : RayCaster<WideRoots>(kind, start, end, range.low).collides(first_ray);
  return answer ? *answer : contact_by_algebra(kind, ContactMode::parity, start, end);
}

}  // namespace meniscus::collision
