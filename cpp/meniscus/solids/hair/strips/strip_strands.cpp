#include "meniscus/solids/hair/strips/strip_strands.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/solids/hair/strips/strip_loops.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::solids::hair::strips {
using mesh::Point;

double* StripStrands::plane(int k) const { return const_cast<double*>(law_.data()) + k * planes_stride_; }

StripStrands::Group StripStrands::group(Index n) const {
  Group g;
  g.slots = first_[n + 1] - first_[n];
  g.lanes = lanes_of(n);
  g.law = law_.data() + pack_size * first_[n];
  g.stride = planes_stride_;
  g.below = beyond_ < 0 ? 0 : 1 - beyond_;
  return g;
}

StripStrands::StripStrands(std::span<const std::int64_t> offsets, ConstPoints rest, std::span<const SpringConstants> constants,
                           double beyond)
    : StrandGroups(offsets, reach + 1), beyond_(beyond), planes_stride_(pack_size * first_.back()) {
  core::require(static_cast<Index>(rest.size()) == size() && constants.size() == rest.size(),
                "offsets must end with the number of particles");
  core::require(beyond < 1, "beyond must be below 1");
  law_ = core::Block<double>(law_planes * planes_stride_);
  std::fill(law_.begin(), law_.end(), 0.0);
  length_.assign(strands(), 0);
  for (Index s = 0; s < strands(); ++s) {
    const Index n = offsets_[s + 1] - offsets_[s];
    core::require(n >= reach, "strand ", s, " has ", n, " particles; three are the least");
  }
  const auto left = [&](Index p, Index s) { return static_cast<int>(offsets_[s + 1] - 1 - p); };
  for (int k = 0; k < reach; ++k) {
    fill_points(plane(spring_plane + k), [&](double& value, Index p, Index s) { value = left(p, s) > k ? constants[p][k] : 0; });
    fill_points(plane(rest_plane + k), [&](double& value, Index p, Index s) {
      if (left(p, s) <= k) return;
      value = (rest[p + k + 1] - rest[p]).norm();
      core::require(value > 0, "particles ", p - offsets_[s], " and ", p - offsets_[s] + k + 1, " of strand ", s, " coincide");
      if (k == 0) length_[s] += value;
    });
  }
  fill_points(plane(altitude_plane), [&](double& value, Index p, Index s) { value = left(p, s) >= reach ? constants[p][3] : 0; });
  fill_points(plane(volume_plane), [&](double& value, Index p, Index s) {
    if (left(p, s) >= reach) value = (rest[p + 1] - rest[p]).cross(rest[p + 2] - rest[p]).dot(rest[p + 3] - rest[p]);
  });
}

StripStrands::StripStrands(const StripStrands& o)
    : StrandGroups(o), length_(o.length_), beyond_(o.beyond_), planes_stride_(o.planes_stride_), law_(o.law_.size()) {
  std::copy(o.law_.begin(), o.law_.end(), law_.begin());
}

StripStrands::~StripStrands() = default;

std::size_t StripStrands::nbytes() const {
  return std::span<const double>(law_.begin(), law_.end()).size_bytes() + std::span(offsets_).size_bytes() +
         std::span(members_).size_bytes() + std::span(first_).size_bytes() + std::span(length_).size_bytes() + pool_.nbytes();
}

void StripStrands::energies(ConstPoints x, std::span<double> out) const {
  for_groups([&](const Group& g, Scratch& s, Index n) {
    gather(g, x, s.x);
    frames_from_store(g, s.x, s.now);
    const Pack e = elastic_energy(g, s.x, s.now);
    per_strand(n, [&](int l, Index strand) { out[strand] = e[l]; });
  });
}

void StripStrands::stiffen(std::span<const double> factors, std::span<const std::array<std::uint8_t, 2>> edges) {
  for (int k = 0; k <= altitude_plane; ++k)
    fill_points(plane(k), [&](double& value, Index p, Index s) {
      if (k >= 2 || edges[p][k] == 0) value *= factors[s];
    });
}

void StripStrands::constants(std::span<SpringConstants> out) const {
  for (int k = 0; k <= altitude_plane; ++k) fill_points(plane(k), [&](double value, Index p, Index) { out[p][k] = value; });
}

void StripStrands::rest_lengths(std::span<std::array<double, 3>> out) const {
  for (int k = 0; k < reach; ++k) fill_points(plane(rest_plane + k), [&](double value, Index p, Index) { out[p][k] = value; });
}

void StripStrands::set_rest_lengths(std::span<const std::array<double, 3>> lengths) {
  for (int k = 0; k < reach; ++k)
    fill_points(plane(rest_plane + k), [&](double& value, Index p, Index s) {
      if (p + k + 1 < offsets_[s + 1]) value = lengths[p][k];
    });
}

}  // namespace meniscus::solids::hair::strips
