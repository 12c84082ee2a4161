#include "meniscus/collision/ray_casting/thick_surface.hpp"

#include "meniscus/collision/proximity/closest_point.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <algorithm>
#include <bit>

namespace meniscus::collision {
namespace {

constexpr Index mesh_chunk = 2048;
constexpr Index query_chunk = 64;

double largest_coordinate(std::span<const mesh::Point> points) {
  return parallel_reduce(
      0, static_cast<Index>(points.size()), mesh_chunk, 0.0,
      [&](Index b, Index e) {
        double largest = 0;
        for (Index i = b; i < e; ++i) largest = std::max(largest, points[i].cwiseAbs().maxCoeff());
        return largest;
      },
      [](double a, double b) { return std::max(a, b); });
}

/// The power of two that brings a positive number to [1/2, 1); 1 for zero.
double scale_of(double largest) {
  if (largest == 0) return 1;
  int exponent = 0;
  std::frexp(largest, &exponent);
  // Beyond 2^1023 there is no power of two; 2^50 is as good in products.
  return std::ldexp(1.0, std::min(-exponent, 1023));
}

}  // namespace

/// A segment in the lengths of the tree.
struct ThickSurface::Query {
  mesh::Point a, b;
  WedgeReach reach;

  Query(const ThickSurface& s, const mesh::Point& origin, const mesh::Point& target) : Query(s, origin, target, s.radius_) {}
  Query(const ThickSurface& s, const mesh::Point& origin, const mesh::Point& target, double radius)
      : a(s.scale_ * origin),
        b(s.scale_ * target),
        reach(s.scale_ * radius, std::max(a.cwiseAbs().maxCoeff(), b.cwiseAbs().maxCoeff())) {}
};

/// The wedge that is entered first, as a leaf slot of the tree.
struct ThickSurface::First {
  std::int32_t slot = -1, triangle = -1;
  double fraction = 1;
};

ThickSurface::ThickSurface(std::span<const mesh::Point> vertices, std::span<const mesh::Triangle> triangles, double thickness,
                           std::span<const std::int32_t> bodies)
    : vertices_(vertices.begin(), vertices.end()),
      triangles_(triangles.begin(), triangles.end()),
      bodies_(bodies.begin(), bodies.end()),
      radius_(0.5 * thickness),
      wedges_(triangles.size()),
      seen_(triangles.size()),
      boxes_(triangles.size()) {
  require(std::isfinite(radius_) && radius_ >= 0, "thickness must be finite and not negative, not ", 2 * radius_);
  require(bodies_.empty() || bodies_.size() == triangles_.size(), "bodies must have one value per triangle, ", triangles_.size(),
          ", not ", bodies_.size());
  if (triangles_.empty())
    mesh::require_finite(vertices_, "vertices");
  else
    mesh::require_valid({vertices_, triangles_});
  gather();
  tree_ = mesh::BoxTree(boxes_);
  place();
}

void ThickSurface::gather() {
  scale_ = scale_of(std::max(largest_coordinate(vertices_), radius_));
  parallel_for(0, static_cast<Index>(triangles_.size()), mesh_chunk, [&](Index b, Index e) {
    for (Index t = b; t < e; ++t) {
      mesh::Box box;
      for (const std::int32_t v : triangles_[t]) box.add(scale_ * vertices_[v]);
      boxes_[t] = box;
    }
  });
}

void ThickSurface::move(std::span<const mesh::Point> vertices) {
  require(vertices.size() == vertices_.size(), "vertices must have ", vertices_.size(), " rows, not ", vertices.size());
  mesh::require_finite(vertices, "vertices");
  std::copy(vertices.begin(), vertices.end(), vertices_.begin());
  gather();
  tree_.refit(boxes_);
  place();
}

void ThickSurface::place() {
  parallel_for(0, static_cast<Index>(triangles_.size()), mesh_chunk, [&](Index b, Index e) {
    for (Index s = b; s < e; ++s) {
      const mesh::Triangle& t = triangles_[tree_.element(s)];
      const auto corner = [&](std::size_t k) -> mesh::Point { return scale_ * vertices_[t[k]]; };
      wedges_[s] = WedgeTriangle::of(corner(0), corner(1), corner(2));
      seen_[s] = SeenWedge::of(wedges_[s]);
    }
  });
}

bool ThickSurface::meets_any(const Query& q) const {
  const BoxRay ray(q.a, q.b, q.reach.box);
  bool found = false;
  double limit = 1;
  mesh::with_box_lanes([&](auto isa) {
    tree_.for_each_within(
        isa, limit, [&](const auto& boxes, double* out) { ray.entries(boxes, out); },
        [&](Index s) {
          if (!segment_meets_wedge(wedges_[s], q.a, q.b, q.reach)) return;
          found = true;
          limit = -1;
        });
  });
  return found;
}

bool ThickSurface::holds(const Query& q) const {
  // Rounding of the sides is monotone, so that no box within reach is left out by more than rounding, which the reach covers.
  const mesh::Point wide = mesh::Point::Constant(q.reach.box);
  return tree_.any_overlap({q.b - wide, q.b + wide}, [&](Index s) { return point_in_wedge(wedges_[s], q.b, q.reach); });
}

bool ThickSurface::visible(const mesh::Point& origin, const mesh::Point& target) const {
  return !meets_any(Query(*this, origin, target));
}

bool ThickSurface::inside(const mesh::Point& point) const { return holds(Query(*this, point, point)); }

bool ThickSurface::inside(const mesh::Point& point, std::span<const std::int32_t> slots) const {
  const Query q(*this, point, point);
  return std::ranges::any_of(slots, [&](std::int32_t s) { return point_in_wedge(wedges_[s], q.b, q.reach); });
}

Visibility ThickSurface::classify(const mesh::Point& origin, const mesh::Point& target) const {
  if (visible(origin, target)) return Visibility::visible;
  return inside(target) ? Visibility::inside : Visibility::occluded;
}

void ThickSurface::meet(const Query& q, const BoxRay& ray, std::int32_t slot, First& first) const {
  const WedgeTriangle& w = wedges_[slot];
  if (!segment_meets_wedge(w, q.a, q.b, q.reach)) return;
  const std::int32_t triangle = tree_.element(slot);
  // Not earlier than the box is entered: then no box that is left out because of `first` holds an earlier entry.
  const double t = std::max(ray.entry(w.box()), wedge_entry(w, q.a, q.b, q.reach));
  if (t > first.fraction || (t == first.fraction && first.slot >= 0 && triangle > first.triangle)) return;
  first = {slot, triangle, t};
}

ThickSurface::First ThickSurface::first_of(const Query& q) const {
  const BoxRay ray(q.a, q.b, q.reach.box);
  First first;
  mesh::with_box_lanes([&](auto isa) {
    tree_.for_each_within(
        isa, first.fraction, [&](const auto& boxes, double* out) { ray.entries(boxes, out); },
        [&](Index s) { meet(q, ray, static_cast<std::int32_t>(s), first); });
  });
  return first;
}

WedgeHit ThickSurface::hit_of(const First& first, const mesh::Point& origin, const mesh::Point& target) const {
  WedgeHit hit;
  hit.visibility = Visibility::occluded;
  hit.triangle = first.triangle;
  hit.fraction = first.fraction;
  hit.body = body(hit.triangle);
  hit.position = (1 - first.fraction) * origin + first.fraction * target;
  const auto& corner = wedges_[first.slot].corner;
  hit.barycentric = closest_point_on_triangle(scale_ * hit.position, corner[0], corner[1], corner[2]).barycentric;
  return hit;
}

WedgeHit ThickSurface::cast(const mesh::Point& origin, const mesh::Point& target) const {
  const First first = first_of(Query(*this, origin, target));
  WedgeHit hit;
  hit.position = target;
  if (first.slot < 0) return hit;
  hit = hit_of(first, origin, target);
  if (inside(target)) hit.visibility = Visibility::inside;
  return hit;
}

/// Wedges of a fan, with the targets on whose way they may be.
struct ThickSurface::FanWedges {
  struct Wedge {
    std::int32_t slot;
    std::uint32_t targets;
  };
  std::array<Wedge, 128> wedge;
  std::size_t count = 0;
  bool overflow = false;
  /// Targets that some of these may hide, and those that one of them hides in any case.
  std::uint32_t doubtful = 0, hidden = 0;

  void add(std::int32_t slot, const FanTargets::Meeting& meeting) {
    if (meeting.near == 0) return;
    overflow |= count == wedge.size();
    if (!overflow) wedge[count++] = {slot, meeting.near};
    doubtful |= meeting.near;
    hidden |= meeting.through;
  }
};

template <int width>
FanTargets::Meeting ThickSurface::meeting(FanLanes<width> lanes, const FanTargets& fan, std::int32_t slot, double reach) const {
  return fan.meet(lanes, seen_[slot], reach);
}

mesh::Box ThickSurface::reached(mesh::Box box, double& reach) const {
  reach = WedgeReach(scale_ * radius_, std::max(box.low.cwiseAbs().maxCoeff(), box.high.cwiseAbs().maxCoeff())).box;
  const mesh::Point wide = mesh::Point::Constant(reach);
  box.low -= wide;
  box.high += wide;
  return box;
}

void ThickSurface::list_near(const mesh::Box& box, std::vector<std::int32_t>& slots) const {
  double reach = 0;
  mesh::Box scaled;
  scaled.add(scale_ * box.low);
  scaled.add(scale_ * box.high);
  const mesh::Box all = reached(scaled, reach);
  const mesh::Point center = 0.5 * (all.low + all.high), half = 0.5 * (all.high - all.low);
  tree_.for_each_overlap(all, [&](Index s) {
    const WedgeTriangle& w = wedges_[s];
    const double height = w.normal.dot(center - w.corner[0]), wide = w.normal.cwiseAbs().dot(half) + reach;
    if (height - wide <= w.high && height + wide >= w.low) slots.push_back(static_cast<std::int32_t>(s));
  });
}

std::uint32_t ThickSurface::cast_fan(const mesh::Point& origin, std::span<const mesh::Point> targets, WedgeHit* out) const {
  const FanTargets fan(origin, targets, scale_);
  double reach = 0;
  const mesh::Box all = reached(fan.box(), reach);
  FanWedges near;
  with_fan_lanes([&](auto lanes) {
    tree_.for_each_overlap(all, [&](Index slot) {
      const auto s = static_cast<std::int32_t>(slot);
      near.add(s, meeting(lanes, fan, s, reach));
    });
  });
  return cast_fan(near, origin, targets, out);
}

std::uint32_t ThickSurface::cast_fan(const mesh::Point& origin, std::span<const mesh::Point> targets,
                                     std::span<const std::int32_t> slots, WedgeHit* out) const {
#if defined(__GNUC__)
  // Two lines each, which are on their way while the fan is prepared.
  for (const std::int32_t s : slots) {
    const auto* const wedge = reinterpret_cast<const char*>(&seen_[s]);
    __builtin_prefetch(wedge);
    __builtin_prefetch(wedge + 64);
  }
#endif
  const FanTargets fan(origin, targets, scale_);
  double reach = 0;
  reached(fan.box(), reach);
  FanWedges near;
  with_fan_lanes([&](auto lanes) {
    for (const std::int32_t s : slots) near.add(s, meeting(lanes, fan, s, reach));
  });
  return cast_fan(near, origin, targets, out);
}

std::uint32_t ThickSurface::cast_fan(const FanWedges& near, const mesh::Point& origin, std::span<const mesh::Point> targets,
                                     WedgeHit* out) const {
  std::uint32_t hidden = out ? 0 : near.hidden;
  if (near.overflow) {
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (!out && !visible(origin, targets[i])) hidden |= 1u << i;
      if (!out) continue;
      out[i] = cast(origin, targets[i]);
      if (out[i].triangle >= 0) hidden |= 1u << i;
    }
    return hidden;
  }
  for (std::uint32_t left = near.doubtful & ~hidden; left != 0; left &= left - 1) {
    const Index i = std::countr_zero(left);
    const Query q(*this, origin, targets[i]);
    if (!out) {
      for (std::size_t k = 0; k < near.count && !((hidden >> i) & 1u); ++k)
        if (((near.wedge[k].targets >> i) & 1u) && segment_meets_wedge(wedges_[near.wedge[k].slot], q.a, q.b, q.reach))
          hidden |= 1u << i;
      continue;
    }
    const BoxRay ray(q.a, q.b, q.reach.box);
    First first;
    for (std::size_t k = 0; k < near.count; ++k)
      if ((near.wedge[k].targets >> i) & 1u) meet(q, ray, near.wedge[k].slot, first);
    if (first.slot < 0) continue;
    hidden |= 1u << i;
    out[i] = hit_of(first, origin, targets[i]);
  }
  return hidden;
}

double ThickSurface::entry(const mesh::Point& origin, const mesh::Point& target, double radius) const {
  const First first = first_of(Query(*this, origin, target, radius));
  // A way that ends where it enters a wedge has met it.
  return first.slot < 0 ? 1.0 : std::min(first.fraction, std::nextafter(1.0, 0.0));
}

NearestPlace ThickSurface::nearest(const mesh::Point& point, double reach) const {
  const mesh::Point p = scale_ * point;
  double limit = scale_ * scale_ * reach * reach;
  NearestPlace result;
  tree_.for_each_near(p, limit, [&](Index s) {
    const std::int32_t triangle = tree_.element(s);
    const auto& corner = wedges_[s].corner;
    const TrianglePoint c = closest_point_on_triangle(p, corner[0], corner[1], corner[2]);
    const bool first = c.squared_distance == limit && result.triangle >= 0 && triangle < result.triangle;
    if (!(c.squared_distance < limit) && !first) return;
    limit = c.squared_distance;
    result = {triangle, 0.0, c.position, c.barycentric};
  });
  if (result.triangle < 0) return result;
  result.position /= scale_;
  result.distance = (point - result.position).norm();
  return result;
}

void ThickSurface::classify(std::span<const mesh::Point> origins, std::span<const mesh::Point> targets,
                            std::span<std::int8_t> out) const {
  parallel_for(0, static_cast<Index>(origins.size()), query_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) out[i] = static_cast<std::int8_t>(classify(origins[i], targets[i]));
  });
}

void ThickSurface::cast(std::span<const mesh::Point> origins, std::span<const mesh::Point> targets,
                        std::span<WedgeHit> out) const {
  parallel_for(0, static_cast<Index>(origins.size()), query_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) out[i] = cast(origins[i], targets[i]);
  });
}

void ThickSurface::inside(std::span<const mesh::Point> points, std::span<bool> out) const {
  parallel_for(0, static_cast<Index>(points.size()), query_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) out[i] = inside(points[i]);
  });
}

mesh::Point ThickSurface::velocity(const WedgeHit& hit, std::span<const mesh::Point> velocities) const {
  mesh::Point v = mesh::Point::Zero();
  if (hit.triangle < 0) return v;
  const mesh::Triangle& t = triangles_[hit.triangle];
  for (int k = 0; k < 3; ++k) v += hit.barycentric[k] * velocities[t[k]];
  return v;
}

mesh::Box ThickSurface::triangle_box(Index t) const {
  mesh::Box box;
  for (const std::int32_t v : triangles_[t]) box.add(vertices_[v]);
  return box;
}

}  // namespace meniscus::collision
