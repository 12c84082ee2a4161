#include "meniscus/fluids/tet_vof/water_measures.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <algorithm>
#include <atomic>

namespace meniscus::fluids {
namespace {

constexpr Index measure_chunk = 1 << 13;
/// More than this in a tetrahedron is refused.
constexpr double most_quanta = 0x1p80;
constexpr double rounding_quanta = 0x1p16;

/// A whole number of quanta as high * 2^32 + low.
struct Count {
  std::int64_t high = 0, low = 0;
};

mesh::Point sum_of(const mesh::Point& a, const mesh::Point& b) { return a + b; }

}  // namespace

std::pair<double, double> largest_and_mean_volume(std::span<const mesh::Tet> tets, std::span<const mesh::Point> positions) {
  using Measures = std::pair<double, double>;
  const Measures all = parallel_reduce(
      0, static_cast<Index>(tets.size()), measure_chunk, Measures{},
      [&](Index b, Index e) {
        Measures part{};
        for (Index i = b; i < e; ++i) {
          const auto x = [&](std::size_t k) -> const mesh::Point& { return positions[tets[i][k]]; };
          const double v = std::abs(mesh::signed_volume(x(0), x(1), x(2), x(3)));
          part = {std::max(part.first, v), part.second + v};
        }
        return part;
      },
      [](const Measures& a, const Measures& b) { return Measures{std::max(a.first, b.first), a.second + b.second}; });
  return {all.first, all.second / static_cast<double>(std::max<std::size_t>(tets.size(), 1))};
}

double total_volume(std::span<const double> volumes, const Quantum& quantum) {
  const Count sum = parallel_reduce(
      0, static_cast<Index>(volumes.size()), measure_chunk, Count{},
      [&](Index b, Index e) {
        Count part;
        for (Index i = b; i < e; ++i) {
          if (volumes[i] == 0) continue;
          const double n = volumes[i] / quantum.size();
          const double high = std::floor(n * 0x1p-32);
          part.high += static_cast<std::int64_t>(high);
          part.low += static_cast<std::int64_t>(n - high * 0x1p32);
        }
        return part;
      },
      [](const Count& a, const Count& b) { return Count{a.high + b.high, a.low + b.low}; });
  const std::int64_t carry = sum.low >> 32;
  return (static_cast<double>(sum.high + carry) * 0x1p32 + static_cast<double>(sum.low - (carry << 32))) * quantum.size();
}

double round_water(const TetWater& water, const Quantum& quantum) {
  const auto volumes = water.volume;
  std::atomic<bool> valid = true;
  const double change = parallel_reduce(
      0, static_cast<Index>(volumes.size()), measure_chunk, 0.0,
      [&](Index b, Index e) {
        double part = 0;
        for (Index i = b; i < e; ++i) {
          if (volumes[i] == 0) {
            // Most of a large mesh is dry, and what is not written to need not leave the cache.
            if (!water.velocity[i].isZero(0)) water.velocity[i].setZero();
            continue;
          }
          // Sums beyond 2^53 quanta are rounded, so that a difference may end just below 0.
          if (volumes[i] < 0 && volumes[i] >= -rounding_quanta * quantum.size()) {
            part -= volumes[i];
            volumes[i] = 0;
            water.velocity[i].setZero();
            continue;
          }
          if (!(volumes[i] >= 0 && volumes[i] <= most_quanta * quantum.size())) {
            valid = false;
            continue;
          }
          const double v = quantum.nearest(volumes[i]);
          if (v == volumes[i]) continue;
          part += v - volumes[i];
          volumes[i] = v;
          if (v == 0) water.velocity[i].setZero();
        }
        return part;
      },
      [](double a, double b) { return a + b; });
  if (!valid)
    for (std::size_t i = 0; i < volumes.size(); ++i)
      require(volumes[i] >= 0 && std::isfinite(volumes[i]), "volume must be finite and not negative, but [", i, "] is ",
              volumes[i]);
  return change;
}

mesh::Point total_momentum(const TetWater& water) {
  return parallel_reduce(
      0, static_cast<Index>(water.volume.size()), measure_chunk, mesh::Point(mesh::Point::Zero()),
      [&](Index b, Index e) {
        mesh::Point part = mesh::Point::Zero();
        for (Index i = b; i < e; ++i)
          if (water.volume[i] > 0) part += water.volume[i] * water.velocity[i];
        return part;
      },
      sum_of);
}

void measure_capacity(std::span<const mesh::Tet> tets, std::span<const mesh::Point> positions, std::span<const double> solid,
                      std::span<const double> porosity, std::span<const TetKind> kinds, std::span<double> capacity) {
  parallel_for(0, static_cast<Index>(tets.size()), measure_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      if (kinds[i] == TetKind::inside || kinds[i] == TetKind::disabled) {
        capacity[i] = 0;
        continue;
      }
      const auto x = [&](std::size_t k) -> const mesh::Point& { return positions[tets[i][k]]; };
      double c = std::abs(mesh::signed_volume(x(0), x(1), x(2), x(3)));
      if (!solid.empty()) c *= 1 - solid[i];
      if (!porosity.empty()) c -= porosity[i];
      capacity[i] = std::max(c, 0.0);
    }
  });
}

mesh::Point accelerate(const TetWater& water, const mesh::Point& change) {
  return parallel_reduce(
      0, static_cast<Index>(water.volume.size()), measure_chunk, mesh::Point(mesh::Point::Zero()),
      [&](Index b, Index e) {
        double volume = 0;
        for (Index i = b; i < e; ++i)
          if (water.volume[i] > 0) {
            water.velocity[i] += change;
            volume += water.volume[i];
          }
        return mesh::Point(volume * change);
      },
      sum_of);
}

mesh::Point adhere(const TetWater& water, std::span<const mesh::Tet> tets, std::span<const double> distances,
                   std::span<const mesh::Point> normals, std::span<const double> strengths,
                   std::span<const mesh::Point> directions, double reach, double dt) {
  return parallel_reduce(
      0, static_cast<Index>(tets.size()), measure_chunk, mesh::Point(mesh::Point::Zero()),
      [&](Index b, Index e) {
        mesh::Point part = mesh::Point::Zero();
        for (Index i = b; i < e; ++i) {
          if (!(water.volume[i] > 0)) continue;
          double distance = 0;
          for (const std::int32_t v : tets[i]) distance += 0.25 * distances[v];
          if (!(distance < reach)) continue;
          // Inside of the solid the force is the one at its surface.
          const double strength = strengths[strengths.size() == 1 ? 0 : i] * std::min((reach - distance) / reach, 1.0);
          const mesh::Point direction =
              directions.empty() ? mesh::Point(-normals[i]) : directions[directions.size() == 1 ? 0 : i];
          const mesh::Point change = (strength * dt) * direction;
          water.velocity[i] += change;
          part += water.volume[i] * change;
        }
        return part;
      },
      sum_of);
}

}  // namespace meniscus::fluids
