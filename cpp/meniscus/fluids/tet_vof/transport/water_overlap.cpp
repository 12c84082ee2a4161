// The requests of WaterTransport by exact overlaps, and the planes of partly filled tetrahedra.
#include "meniscus/core/parallel.hpp"
#include "meniscus/fluids/tet_vof/transport/solid_clipping.hpp"
#include "meniscus/fluids/tet_vof/transport/water_transport.hpp"
#include "meniscus/mesh/clipping/tet_plane.hpp"

#include <algorithm>

namespace meniscus::fluids {
namespace {

/// Fuller than this, a tetrahedron has no plane, nor does one that is emptier than the rest.
constexpr double nearly = 1e-9;
/// Tetrahedra whose fills differ by no more than this are alike for adaptive samples; with planes, full ones that are fuller.
constexpr double alike = 0.075;
constexpr double full = 0.99;

}  // namespace

void WaterTransport::request_by_overlap(std::int32_t slot, const TransportStep& step, NearLocation& before, OverlapSearch& search,
                                        RequestList& list, std::vector<OutsidePoint>* outside) const {
  const std::int32_t t = reach_.tets()[slot];
  before.begin(t);
  const Traced traced = traced_back(slot, step, before);
  const std::array<mesh::Point, 4>& y = traced.y;
  const double volume = std::abs(mesh::signed_volume(y[0], y[1], y[2], y[3]));
  const mesh::Point centre = 0.25 * ((y[0] + y[1]) + (y[2] + y[3]));
  before.begin(t);
  std::int32_t start = before.find(centre);
  for (std::size_t k = 0; k < 4 && start < 0; ++k) start = before.find(0.9 * y[k] + 0.1 * centre);
  double rest = volume;
  mesh::Point moment = volume * centre;
  if (start >= 0) {
    const auto plane = [&](std::int32_t k) -> const mesh::HalfSpace* {
      const std::int32_t donor = reach_.slot(k);
      if (planes_.empty() || donor < 0 || donor >= reach_.wet()) return nullptr;
      const mesh::HalfSpace& p = planes_[donor];
      return p.normal.isZero(0) ? nullptr : &p;
    };
    search.find(step.before, y, start, plane, [&](std::int32_t k, const mesh::TetOverlap& o) {
      rest -= o.volume;
      moment -= o.moment;
      const std::int32_t donor = reach_.slot(k);
      const double v = quantum_.nearest(o.volume);
      if (!(v > 0) || donor < 0 || donor >= reach_.wet()) return;
      if (traced.near_solid) {
        const mesh::Point middle = 0.25 * ((traced.start[0] + traced.start[1]) + (traced.start[2] + traced.start[3]));
        before.begin(t);
        if (last_before_solid(middle, o.moment / o.volume, traced.look, step.ranks, step.distance_before, before) >= 0) return;
      }
      list.push(donor, v);
    });
  }
  // With planes, what a donor keeps dry is not outside.
  if (outside != nullptr && planes_.empty() && rest > 1e-9 * volume) {
    const auto& x = traced.x;
    const double own = std::abs(mesh::signed_volume(x[0], x[1], x[2], x[3]));
    outside->push_back({moment / rest, std::min(rest, own), t});
  }
}

/// Planes across partly filled tetrahedra: their normals point to where the water around becomes less.
void WaterTransport::find_planes(const TetWater& water, const TransportStep& step) {
  planes_.clear();
  if (!step.planes) return;
  planes_.resize(reach_.wet());
  parallel_for(0, reach_.wet(), chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) {
      const std::int32_t t = reach_.tets()[i];
      std::array<mesh::Point, 4> x;
      for (std::size_t k = 0; k < 4; ++k) x[k] = step.before.corner(t, k);
      const double volume = std::abs(mesh::signed_volume(x[0], x[1], x[2], x[3]));
      const double part = water.volume[t] / volume;
      mesh::HalfSpace& plane = planes_[i];
      if (!(part > nearly && part < 1 - nearly)) continue;
      // How full it is around each corner, weighted by volume.
      std::array<double, 4> full;
      for (std::size_t k = 0; k < 4; ++k) {
        double held = 0, all = 0;
        graph_.for_star(graph_.tet(t)[k], [&](std::int32_t s) {
          const mesh::Tet& c = graph_.tet(s);
          const auto at = [&](std::size_t j) -> const mesh::Point& { return step.before.positions[c[j]]; };
          const double v = std::abs(mesh::signed_volume(at(0), at(1), at(2), at(3)));
          all += v;
          held += std::min(water.volume[s], v);
        });
        full[k] = all > 0 ? held / all : 0;
      }
      const mesh::Point e1 = x[1] - x[0], e2 = x[2] - x[0], e3 = x[3] - x[0];
      const mesh::Point gradient =
          ((full[1] - full[0]) * e2.cross(e3) + (full[2] - full[0]) * e3.cross(e1) + (full[3] - full[0]) * e1.cross(e2)) /
          e1.dot(e2.cross(e3));
      const double size = gradient.norm();
      if (!(size * std::cbrt(volume) > nearly)) continue;
      const mesh::Point normal = -gradient / size;
      std::array<double, 4> height;
      for (std::size_t k = 0; k < 4; ++k) height[k] = normal.dot(x[k] - x[0]);
      plane = {normal, mesh::offset_for_fraction(height, part), x[0]};
    }
  });
}

/// Whether a tetrahedron and its neighbours across faces are about as full, so that it does not matter much from which it
/// requests.
bool WaterTransport::all_alike(std::int32_t slot, const TransportStep& step) const {
  const auto fill = [&](std::int32_t t) {
    const std::int32_t s = reach_.slot(t);
    if (s < 0 || s >= reach_.wet()) return 0.0;
    const double room = step.capacity[t];
    return room > 0 ? std::min(old_volume_[s] / room, 1.0) : 1.0;
  };
  const std::int32_t t = reach_.tets()[slot];
  double least = fill(t), most = least;
  for (const std::int32_t n : graph_.neighbours(t)) {
    if (n < 0) return false;
    const double f = fill(n);
    least = std::min(least, f);
    most = std::max(most, f);
  }
  return step.planes ? least > full || most == 0 : most - least <= alike;
}

}  // namespace meniscus::fluids
