/// Volume of a box that half-spaces cut: the one measure of liquid in cells that its surface and a solid cut together.
#pragma once

#include "meniscus/core/types.hpp"

#include <array>
#include <cmath>

namespace meniscus::surface {

/// Points x with normal . x <= offset.
template <int D>
struct HalfSpace {
  std::array<double, D> normal{};
  double offset = 0;

  /// Positive outside: the distance times the length of the normal. Points that are on the plane but for rounding are on it, so
  /// that the corners of a cut lie on its own plane, and on an equal one.
  double beyond(const std::array<double, D>& x) const {
    double sum = -offset, size = std::abs(offset);
    for (int d = 0; d < D; ++d) {
      sum += normal[d] * x[d];
      size += std::abs(normal[d]);
    }
    return std::abs(sum) < 5e-14 * size ? 0 : sum;
  }
};

/// A convex polygon in the plane or in space, of few corners.
template <int D>
class ConvexPolygon {
 public:
  void add(const std::array<double, D>& x) { corner_[count_++] = x; }
  int size() const { return count_; }
  const std::array<double, D>& operator[](int i) const { return corner_[i]; }

  /// Removes what lies beyond a half-space (Sutherland and Hodgman 1974).
  void clip(const HalfSpace<D>& half) {
    const ConvexPolygon from = *this;
    count_ = 0;
    for (int i = 0; i < from.count_; ++i) {
      const auto& p = from.corner_[i];
      const auto& q = from.corner_[i + 1 < from.count_ ? i + 1 : 0];
      const double at_p = half.beyond(p), at_q = half.beyond(q);
      if (at_p <= 0) add(p);
      if ((at_p < 0 && at_q > 0) || (at_p > 0 && at_q < 0)) {
        // From the same end in both directions, so that neighbours share the point to the bit.
        const double t = at_p < 0 ? at_p / (at_p - at_q) : at_q / (at_q - at_p);
        const auto& inside = at_p < 0 ? p : q;
        const auto& outside = at_p < 0 ? q : p;
        std::array<double, D> x;
        for (int d = 0; d < D; ++d) x[d] = inside[d] + t * (outside[d] - inside[d]);
        add(x);
      }
    }
  }

  /// Twice the area, as a vector along the normal in space.
  auto twice_area() const {
    std::array<double, D == 2 ? 1 : 3> sum{};
    for (int i = 1; i + 1 < count_; ++i) {
      const auto &o = corner_[0], &p = corner_[i], &q = corner_[i + 1];
      if constexpr (D == 2) {
        sum[0] += (p[0] - o[0]) * (q[1] - o[1]) - (p[1] - o[1]) * (q[0] - o[0]);
      } else {
        const std::array<double, 3> a{p[0] - o[0], p[1] - o[1], p[2] - o[2]}, b{q[0] - o[0], q[1] - o[1], q[2] - o[2]};
        sum[0] += a[1] * b[2] - a[2] * b[1];
        sum[1] += a[2] * b[0] - a[0] * b[2];
        sum[2] += a[0] * b[1] - a[1] * b[0];
      }
    }
    return sum;
  }

 private:
  // A square with six sides more, or the cut through a box and two half-spaces more, and a corner for rounding errors.
  std::array<std::array<double, D>, 14> corner_{};
  int count_ = 0;
};

/// A box, and what half-spaces leave of it. At most three of them.
template <int D>
class ClippedBox;

template <>
class ClippedBox<2> {
 public:
  ClippedBox(const std::array<double, 2>& low, const std::array<double, 2>& high) {
    part_.add(low);
    part_.add({high[0], low[1]});
    part_.add(high);
    part_.add({low[0], high[1]});
  }
  void clip(const HalfSpace<2>& half) { part_.clip(half); }
  double volume() const { return std::max(0.0, 0.5 * part_.twice_area()[0]); }

 private:
  ConvexPolygon<2> part_;
};

template <>
class ClippedBox<3> {
 public:
  ClippedBox(const std::array<double, 3>& low, const std::array<double, 3>& high) : low_(low) {
    for (int d = 0; d < 3; ++d) {
      const int e = (d + 1) % 3, f = (d + 2) % 3;
      for (const bool upper : {false, true}) {
        Face& face = face_[count_++];
        face.plane.normal[d] = upper ? 1.0 : -1.0;
        face.plane.offset = upper ? high[d] : -low[d];
        for (int i = 0; i < 4; ++i) {
          std::array<double, 3> x;
          x[d] = upper ? high[d] : low[d];
          const int k = upper ? i : 3 - i;  // counter-clockwise as seen from outside
          x[e] = (k == 1 || k == 2) ? high[e] : low[e];
          x[f] = k >= 2 ? high[f] : low[f];
          face.polygon.add(x);
        }
      }
      middle_[d] = 0.5 * (low[d] + high[d]);
      reach_ += high[d] - low[d];
    }
  }

  void clip(const HalfSpace<3>& half) {
    bool cuts = false;
    for (int i = 0; i < count_; ++i)
      for (int k = 0; k < face_[i].polygon.size(); ++k) cuts |= half.beyond(face_[i].polygon[k]) > 0;
    if (!cuts) return;
    ConvexPolygon<3> cap = square_on(half);
    for (int i = 0; i < count_; ++i) cap.clip(face_[i].plane);
    for (int i = 0; i < count_; ++i) face_[i].polygon.clip(half);
    face_[count_++] = {half, cap};
  }

  /// Sum of the pyramids from the lower corner of the box over all faces. The area of the last cut is what closes the others:
  /// where it nearly coincides with another one, it is not known which of the two has an area, and the sum does not depend on
  /// that.
  double volume() const {
    std::array<double, 3> open{};
    double sum = 0;
    for (int i = 0; i < count_; ++i) {
      const bool closing = count_ > box_faces && i == count_ - 1;
      const std::array<double, 3> twice = closing ? open : face_[i].polygon.twice_area();
      const auto& n = face_[i].plane.normal;
      const double length = std::sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
      const double area = (twice[0] * n[0] + twice[1] * n[1] + twice[2] * n[2]) / length;
      for (int d = 0; d < 3; ++d) open[d] -= twice[d];
      sum -= area * face_[i].plane.beyond(low_) / length;
    }
    return std::max(0.0, sum / 6);
  }

 private:
  struct Face {
    HalfSpace<3> plane;
    ConvexPolygon<3> polygon;
  };

  /// A square in the plane that reaches beyond the box on all sides.
  ConvexPolygon<3> square_on(const HalfSpace<3>& half) const {
    const auto& n = half.normal;
    int least = 0;
    for (int d = 1; d < 3; ++d)
      if (std::abs(n[d]) < std::abs(n[least])) least = d;
    const double squared = n[0] * n[0] + n[1] * n[1] + n[2] * n[2];
    const double away = half.beyond(middle_) / squared;
    std::array<double, 3> a{}, b;
    a[least] = 1;
    for (int d = 0; d < 3; ++d) a[d] -= n[least] * n[d] / squared;
    for (int d = 0; d < 3; ++d) b[d] = n[(d + 1) % 3] * a[(d + 2) % 3] - n[(d + 2) % 3] * a[(d + 1) % 3];
    const double scale_a = 2 * reach_ / std::sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
    const double scale_b = 2 * reach_ / std::sqrt(b[0] * b[0] + b[1] * b[1] + b[2] * b[2]);
    ConvexPolygon<3> square;
    for (int i = 0; i < 4; ++i) {
      const double s = (i == 1 || i == 2) ? scale_a : -scale_a, t = i >= 2 ? scale_b : -scale_b;
      std::array<double, 3> x;
      for (int d = 0; d < 3; ++d) x[d] = middle_[d] - away * n[d] + s * a[d] + t * b[d];
      square.add(x);
    }
    return square;
  }

  static constexpr int box_faces = 6;
  std::array<double, 3> low_, middle_{};
  double reach_ = 0;
  std::array<Face, 9> face_;
  int count_ = 0;
};

}  // namespace meniscus::surface
