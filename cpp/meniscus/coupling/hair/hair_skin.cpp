#include "meniscus/coupling/hair/hair_skin.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::coupling {
using mesh::Point;

namespace {

/// Strands that a thread takes at a time.
constexpr Index strand_chunk = 64;
/// Newton steps along the gradient of a distance that is interpolated.
constexpr int push_steps = 3;

/// Trilinear interpolation of a signed distance and its gradient.
class DistanceProbe {
 public:
  explicit DistanceProbe(const grid::Field<double, 3>& f)
      : view_(f.view()), inverse_(1 / f.grid().spacing()), spacing_(f.grid().spacing()) {
    for (int d = 0; d < 3; ++d) origin_[d] = f.grid().origin()[d];
  }

  /// Whether a point is certainly farther than `far` outside: a distance changes by no more than the way.
  bool beyond(const Point& p, double far) const {
    std::array<Index, 3> cell;
    if (!find(p, cell)) return true;
    return *view_.at({cell[0], cell[1], cell[2]}) > far + 1.7320508 * spacing_;
  }

  double value(const Point& p, Point& gradient) const {
    std::array<Index, 3> cell;
    if (!find(p, cell)) {
      gradient = Point::Zero();
      return 1e300;
    }
    double w[3][2], c[2][2][2];
    for (int d = 0; d < 3; ++d) {
      const double f = (p[d] - origin_[d]) * inverse_ - static_cast<double>(cell[d]);
      w[d][0] = 1 - f, w[d][1] = f;
    }
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j)
        for (int k = 0; k < 2; ++k) c[i][j][k] = *view_.at({cell[0] + i, cell[1] + j, cell[2] + k});
    double sum = 0, x = 0, y = 0, z = 0;
    for (int i = 0; i < 2; ++i)
      for (int j = 0; j < 2; ++j)
        for (int k = 0; k < 2; ++k) {
          const double v = c[i][j][k];
          sum += w[0][i] * w[1][j] * w[2][k] * v;
          x += (i ? v : -v) * w[1][j] * w[2][k];
          y += (j ? v : -v) * w[0][i] * w[2][k];
          z += (k ? v : -v) * w[0][i] * w[1][j];
        }
    gradient = inverse_ * Point(x, y, z);
    return sum;
  }

 private:
  bool find(const Point& p, std::array<Index, 3>& cell) const {
    for (int d = 0; d < 3; ++d) {
      const double at = (p[d] - origin_[d]) * inverse_;
      if (!(at >= 0 && at < static_cast<double>(view_.extents[d] - 1))) return false;
      cell[d] = static_cast<Index>(at);
    }
    return true;
  }

  grid::FieldView<const double, 3> view_;
  double inverse_, spacing_;
  Point origin_;
};

/// Where depths go.
double pushed(const HairPost& o, double phi) {
  const double deepest = std::min(-o.depth, phi);
  if (o.pushout == HairPushout::inside) return phi < 0 ? o.thickness * (1 - phi / deepest) : phi;
  return o.thickness > deepest ? o.thickness * (phi - deepest) / (o.thickness - deepest) : phi;
}

void push_out(const HairPost& o, const DistanceProbe& distance, Point& p) {
  const double far = o.pushout == HairPushout::order ? o.thickness : 0;
  if (distance.beyond(p, far)) return;
  Point n;
  double phi = distance.value(p, n);
  if (phi >= far) return;
  const double to = pushed(o, phi);
  for (int k = 0; k < push_steps; ++k) {
    const double square = n.squaredNorm();
    if (!(square > 1e-12)) return;
    p += ((to - phi) / square) * n;
    phi = distance.value(p, n);
    if (phi > 1e200) return;
  }
}

void keep_lengths(HairLength how, std::span<const float> lengths, Point* x, Index n) {
  for (Index i = 1; i < n; ++i) {
    const Point d = x[i] - x[i - 1];
    const double square = d.squaredNorm(), rest = lengths[i - 1];
    if (square <= rest * rest && how == HairLength::shorten) continue;
    if (square > 0) x[i] = x[i - 1] + (rest / std::sqrt(square)) * d;
  }
}

void finish(const HairStrands& hair, const HairPost& o, const DistanceProbe* distance, Index s, Point* x) {
  const Index b = hair.offsets[s], n = hair.offsets[s + 1] - b;
  if (o.length != HairLength::free) keep_lengths(o.length, hair.lengths.subspan(b, n), x, n);
  if (distance != nullptr)
    for (Index i = 1; i < n; ++i) push_out(o, *distance, x[i]);
}

template <class W>
Point carried(const HairPose& pose, const HairStyle<W>& style, Index p) {
  const mesh::Tet& t = pose.tets[style.tets[p]];
  const std::array<W, 3>& w = style.weights[p];
  const Point& a = pose.nodes[t[0]];
  return a + static_cast<double>(w[0]) * (pose.nodes[t[1]] - a) + static_cast<double>(w[1]) * (pose.nodes[t[2]] - a) +
         static_cast<double>(w[2]) * (pose.nodes[t[3]] - a);
}

template <class Body>
void over_strands(const HairStrands& hair, const HairPost& post, Body&& body) {
  core::require(post.pushout == HairPushout::none || post.distance != nullptr, "a push-out needs a distance");
  const bool pushes = post.pushout != HairPushout::none;
  core::parallel_for(0, static_cast<Index>(hair.offsets.size()) - 1, strand_chunk, [&](Index begin, Index end) {
    if (!pushes) {
      for (Index s = begin; s < end; ++s) body(s, static_cast<const DistanceProbe*>(nullptr));
      return;
    }
    const DistanceProbe probe(*post.distance);
    for (Index s = begin; s < end; ++s) body(s, &probe);
  });
}

}  // namespace

template <class W>
void skin_hair(const HairStrands& hair, const HairPose& pose, std::span<const HairStyle<W>> styles, std::span<const float> places,
               const HairPost& post, std::span<Point> out) {
  const bool blends = !places.empty();
  const float last = static_cast<float>(styles.size()) - 1;
  over_strands(hair, post, [&](Index s, const DistanceProbe* probe) {
    const Index b = hair.offsets[s], e = hair.offsets[s + 1];
    for (Index p = b; p < e; ++p) {
      if (!blends) {
        out[p] = carried(pose, styles[0], p);
        continue;
      }
      const float place = std::clamp(places[p], 0.0f, last);
      const Index k = std::min(static_cast<Index>(place), std::max<Index>(static_cast<Index>(last) - 1, 0));
      const double part = static_cast<double>(place) - static_cast<double>(k);
      out[p] = carried(pose, styles[k], p);
      if (part > 0) out[p] = (1 - part) * out[p] + part * carried(pose, styles[k + 1], p);
    }
    if (!hair.root_corners.empty()) {
      Point root = Point::Zero();
      for (int k = 0; k < 3; ++k) root += hair.root_weights[s][k] * pose.skin[hair.root_corners[s][k]];
      out[b] = root;
    }
    finish(hair, post, probe, s, out.data() + b);
  });
}

void finish_hair(const HairStrands& hair, const HairPost& post, std::span<Point> points) {
  over_strands(hair, post,
               [&](Index s, const DistanceProbe* probe) { finish(hair, post, probe, s, points.data() + hair.offsets[s]); });
}

template void skin_hair(const HairStrands&, const HairPose&, std::span<const HairStyle<float>>, std::span<const float>,
                        const HairPost&, std::span<Point>);
template void skin_hair(const HairStrands&, const HairPose&, std::span<const HairStyle<double>>, std::span<const float>,
                        const HairPost&, std::span<Point>);

}  // namespace meniscus::coupling
