#include "meniscus/surface/tetrahedra/occupancy.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/mesh/clipping/tet_plane.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::surface {
namespace {

constexpr Index occupancy_chunk = 4096;

std::array<double, 4> at_corners(const mesh::Tet& tet, std::span<const double> phi) {
  std::array<double, 4> value;
  for (std::size_t k = 0; k < 4; ++k) value[k] = phi[tet[k]];
  return value;
}

}  // namespace

double longest_edge(const mesh::TetMeshView& mesh) {
  const double squared = parallel_reduce(
      0, mesh.size(), occupancy_chunk, 0.0,
      [&](Index begin, Index end) {
        double most = 0;
        for (Index t = begin; t < end; ++t)
          for (const auto& e : mesh::tet_edges)
            most =
                std::max(most, (mesh.corner(t, static_cast<int>(e[1])) - mesh.corner(t, static_cast<int>(e[0]))).squaredNorm());
        return most;
      },
      [](double a, double b) { return std::max(a, b); });
  return std::sqrt(squared);
}

std::vector<std::int32_t> tets_of_region(std::span<const mesh::Tet> tets, std::span<const double> phi, double reach) {
  const auto count = static_cast<Index>(tets.size());
  std::vector<std::vector<std::int32_t>> pieces((count + occupancy_chunk - 1) / occupancy_chunk);
  parallel_for(0, count, occupancy_chunk, [&](Index begin, Index end) {
    auto& found = pieces[begin / occupancy_chunk];
    for (Index t = begin; t < end; ++t) {
      const auto value = at_corners(tets[t], phi);
      const double most = std::max({value[0], value[1], value[2], value[3]});
      if (most <= 0 || most < reach) found.push_back(static_cast<std::int32_t>(t));
    }
  });
  std::vector<std::int32_t> all;
  for (const auto& piece : pieces) all.insert(all.end(), piece.begin(), piece.end());
  return all;
}

void join_member(std::span<const mesh::Tet> tets, std::span<const double> member_phi, std::span<const bool> member_touched,
                 std::span<double> phi, std::span<bool> touched, std::span<bool> inside) {
  parallel_for(0, static_cast<Index>(phi.size()), occupancy_chunk, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) phi[i] = std::min(phi[i], member_phi[i]);
  });
  parallel_for(0, static_cast<Index>(tets.size()), occupancy_chunk, [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t) {
      const auto value = at_corners(tets[t], member_phi);
      touched[t] = touched[t] || member_touched[t];
      inside[t] = inside[t] || (!member_touched[t] && std::max({value[0], value[1], value[2], value[3]}) <= 0);
    }
  });
}

void set_occupancy(std::span<const mesh::Tet> tets, std::span<const double> phi, std::span<const bool> touched,
                   std::span<double> fraction, std::span<bool> cut, std::span<bool> inside) {
  parallel_for(0, static_cast<Index>(tets.size()), occupancy_chunk, [&](Index begin, Index end) {
    for (Index t = begin; t < end; ++t) {
      fraction[t] = inside[t] ? 1.0 : mesh::fraction_below(at_corners(tets[t], phi));
      cut[t] = !inside[t] && (touched[t] || (fraction[t] > 0 && fraction[t] < 1));
      inside[t] = inside[t] || (fraction[t] == 1 && !cut[t]);
    }
  });
}

void count_samples(const mesh::TetMeshView& mesh, std::span<const bool> cut, const SignedDistance& distance,
                   std::span<const mesh::TetWeights> samples, std::span<double> fraction) {
  constexpr std::size_t batch = std::size_t{1} << 18;
  std::vector<std::size_t> now;
  std::vector<mesh::Point> points;
  std::vector<double> values;
  const auto count = [&] {
    points.resize(now.size() * samples.size());
    values.resize(points.size());
    parallel_for(0, static_cast<Index>(now.size()), 256, [&](Index begin, Index end) {
      for (Index i = begin; i < end; ++i)
        for (std::size_t s = 0; s < samples.size(); ++s) {
          mesh::Point p = mesh::Point::Zero();
          for (std::size_t k = 0; k < 4; ++k) p += samples[s][k] * mesh.corner(static_cast<Index>(now[i]), static_cast<int>(k));
          points[i * samples.size() + s] = p;
        }
    });
    if (!points.empty()) distance(points, values);
    for (std::size_t i = 0; i < now.size(); ++i) {
      Index below = 0;
      for (std::size_t s = 0; s < samples.size(); ++s) below += values[i * samples.size() + s] <= 0;
      fraction[now[i]] = static_cast<double>(below) / static_cast<double>(samples.size());
    }
    now.clear();
  };
  for (std::size_t t = 0; t < cut.size(); ++t) {
    if (cut[t]) now.push_back(t);
    if (now.size() * samples.size() >= batch) count();
  }
  count();
}

}  // namespace meniscus::surface
