#include "meniscus/fluids/flows/procedural_flow.hpp"

#include "meniscus/core/error.hpp"

#include <Eigen/Geometry>

#include <cmath>
#include <numbers>
#include <utility>

namespace meniscus::fluids {
namespace {

using Vec2 = Vec<double, 2>;
using Vec3 = Vec<double, 3>;
constexpr double pi = std::numbers::pi;

template <int D>
void require_finite_vector(const Vec<double, D>& v, const char* name) {
  require(v.array().isFinite().all(), name, " must be finite");
}

double square(double x) { return x * x; }

template <int D>
class Uniform final : public Flow<D> {
 public:
  explicit Uniform(const Vec<double, D>& v) : v_(v) {}
  Vec<double, D> velocity(const Vec<double, D>&, double) const override { return v_; }
  Potential<D> potential(const Vec<double, D>& x, double) const override {
    if constexpr (D == 2)
      return Potential<2>(v_[0] * x[1] - v_[1] * x[0]);
    else
      return 0.5 * v_.cross(x);
  }

 private:
  Vec<double, D> v_;
};

class Rotation2 final : public Flow<2> {
 public:
  Rotation2(const Vec2& center, double rate) : center_(center), rate_(rate) {}
  Vec2 velocity(const Vec2& x, double) const override { return rate_ * Vec2(center_[1] - x[1], x[0] - center_[0]); }
  Potential<2> potential(const Vec2& x, double) const override {
    return Potential<2>(-0.5 * rate_ * (x - center_).squaredNorm());
  }

 private:
  Vec2 center_;
  double rate_;
};

class Rotation3 final : public Flow<3> {
 public:
  Rotation3(const Vec3& center, const Vec3& omega) : center_(center), omega_(omega) {}
  Vec3 velocity(const Vec3& x, double) const override { return omega_.cross(x - center_); }
  Potential<3> potential(const Vec3& x, double) const override {
    // curl(-|r|^2 omega / 2) = omega x r
    return -0.5 * (x - center_).squaredNorm() * omega_;
  }

 private:
  Vec3 center_;
  Vec3 omega_;
};

class VortexRing final : public Flow<3> {
 public:
  VortexRing(const Vec3& center, const Vec3& axis, double radius, double strength)
      : center_(center), axis_(axis.normalized()), r2_(radius * radius), strength_(strength) {}
  Vec3 velocity(const Vec3& x, double) const override {
    const Vec3 y = x - center_;
    return 2.0 * strength_ / square(r2_ + y.squaredNorm()) * (r2_ * axis_ + axis_.dot(y) * y);
  }
  Potential<3> potential(const Vec3& x, double) const override {
    const Vec3 y = x - center_;
    return strength_ / (r2_ + y.squaredNorm()) * axis_.cross(y);
  }

 private:
  Vec3 center_;
  Vec3 axis_;
  double r2_;
  double strength_;
};

template <int D>
class Source final : public Flow<D> {
 public:
  Source(const Vec<double, D>& center, double radius, double strength, double variation,
         const numerics::FractalNoiseOptions& noise)
      : center_(center), radius_(radius), strength_(strength), variation_(variation), noise_(noise) {}
  Vec<double, D> velocity(const Vec<double, D>& x, double t) const override {
    const Vec<double, D> y = x - center_;
    const double d = y.norm();
    if (d == 0.0 || d >= radius_) return Vec<double, D>::Zero();
    const double modulation = variation_ == 0.0 ? 1.0 : 1.0 + variation_ * noise_(x, t).value;
    return strength_ * modulation * (radius_ - d) / d * y;
  }
  bool has_potential() const override { return false; }
  Potential<D> potential(const Vec<double, D>&, double) const override { return Potential<D>::Zero(); }

 private:
  Vec<double, D> center_;
  double radius_;
  double strength_;
  double variation_;
  numerics::FractalNoise<D> noise_;
};

/// Rises from 0 at the wall to 1 at x = 1 with two vanishing derivatives there (Bridson, Houriham, Nordenstam 2007).
struct Ramp {
  double value, slope;
  explicit Ramp(double x) {
    if (x >= 1.0) {
      value = 1.0;
      slope = 0.0;
    } else {
      const double y = std::max(x, 0.0);
      value = y * (15.0 - y * y * (10.0 - 3.0 * y * y)) / 8.0;
      slope = x < 0.0 ? 0.0 : 15.0 * square(1.0 - y * y) / 8.0;
    }
  }
};

template <int D>
class CurlNoise final : public Flow<D> {
 public:
  CurlNoise(double strength, numerics::FractalNoiseOptions noise, const std::optional<RampBox<D>>& ramp)
      : strength_(strength), ramp_(ramp) {
    for (int c = 0; c < Potential<D>::RowsAtCompileTime; ++c) {
      noise_.emplace_back(noise);
      noise.seed += 0x9E3779B97F4A7C15u;  // far from the consecutive seeds of the octaves
    }
  }

  Vec<double, D> velocity(const Vec<double, D>& x, double t) const override {
    const auto [fade, fade_slope] = fade_at(x);
    const auto gradient = [&](std::size_t c) -> Vec<double, D> {
      const auto n = noise_[c](x, t);
      return strength_ * (fade * n.gradient + n.value * fade_slope);
    };
    if constexpr (D == 2) {
      const Vec2 g = gradient(0);
      return {g[1], -g[0]};
    } else {
      const Vec3 gx = gradient(0), gy = gradient(1), gz = gradient(2);
      return {gz[1] - gy[2], gx[2] - gz[0], gy[0] - gx[1]};
    }
  }

  Potential<D> potential(const Vec<double, D>& x, double t) const override {
    const double scale = strength_ * fade_at(x).first;
    Potential<D> p;
    for (std::size_t c = 0; c < noise_.size(); ++c) p[static_cast<Eigen::Index>(c)] = scale * noise_[c](x, t).value;
    return p;
  }

 private:
  /// Product of the ramps of all sides, and its gradient.
  std::pair<double, Vec<double, D>> fade_at(const Vec<double, D>& x) const {
    if (!ramp_) return {1.0, Vec<double, D>::Zero()};
    std::array<double, D> value;
    std::array<double, D> slope;
    double product = 1.0;
    for (std::size_t d = 0; d < D; ++d) {
      const auto i = static_cast<Eigen::Index>(d);
      const Ramp low((x[i] - ramp_->lower[i]) / ramp_->width);
      const Ramp high((ramp_->upper[i] - x[i]) / ramp_->width);
      value[d] = low.value * high.value;
      slope[d] = (low.slope * high.value - low.value * high.slope) / ramp_->width;
      product *= value[d];
    }
    Vec<double, D> gradient;
    for (std::size_t d = 0; d < D; ++d) {
      double g = slope[d];
      for (std::size_t e = 0; e < D; ++e)
        if (e != d) g *= value[e];
      gradient[static_cast<Eigen::Index>(d)] = g;
    }
    return {product, gradient};
  }

  double strength_;
  std::optional<RampBox<D>> ramp_;
  std::vector<numerics::FractalNoise<D>> noise_;
};

double reversal(double t, double period) { return period == 0.0 ? 1.0 : std::cos(pi * t / period); }

class SingleVortex final : public Flow<2> {
 public:
  SingleVortex(double length, double period) : length_(length), period_(period) {}
  Vec2 velocity(const Vec2& x, double t) const override {
    const double a = pi * x[0] / length_, b = pi * x[1] / length_, c = reversal(t, period_);
    return {-c * square(std::sin(a)) * std::sin(2.0 * b), c * square(std::sin(b)) * std::sin(2.0 * a)};
  }
  Potential<2> potential(const Vec2& x, double t) const override {
    const double s = std::sin(pi * x[0] / length_) * std::sin(pi * x[1] / length_);
    return Potential<2>(-reversal(t, period_) * length_ / pi * s * s);
  }

 private:
  double length_;
  double period_;
};

class Deformation final : public Flow<3> {
 public:
  Deformation(double length, double period) : length_(length), period_(period) {}
  Vec3 velocity(const Vec3& x, double t) const override {
    const Vec3 s = (pi / length_ * x).array().sin();
    const Vec3 d = (2.0 * pi / length_ * x).array().sin();
    const double c = reversal(t, period_);
    return {2.0 * c * s[0] * s[0] * d[1] * d[2], -c * d[0] * s[1] * s[1] * d[2], -c * d[0] * d[1] * s[2] * s[2]};
  }
  Potential<3> potential(const Vec3& x, double t) const override {
    const Vec3 s = (pi / length_ * x).array().sin();
    const Vec3 d = (2.0 * pi / length_ * x).array().sin();
    const double c = reversal(t, period_) * length_ / pi;
    return {0.0, -c * s[0] * s[0] * d[1] * s[2] * s[2], c * s[0] * s[0] * s[1] * s[1] * d[2]};
  }

 private:
  double length_;
  double period_;
};

template <int D>
class Sum final : public Flow<D> {
 public:
  Sum(std::vector<FlowPointer<D>> flows, std::vector<double> weights) : flows_(std::move(flows)), weights_(std::move(weights)) {}
  Vec<double, D> velocity(const Vec<double, D>& x, double t) const override {
    Vec<double, D> v = Vec<double, D>::Zero();
    for (std::size_t i = 0; i < flows_.size(); ++i) v += weights_[i] * flows_[i]->velocity(x, t);
    return v;
  }
  bool has_potential() const override {
    for (const auto& f : flows_)
      if (!f->has_potential()) return false;
    return true;
  }
  Potential<D> potential(const Vec<double, D>& x, double t) const override {
    Potential<D> p = Potential<D>::Zero();
    for (std::size_t i = 0; i < flows_.size(); ++i) p += weights_[i] * flows_[i]->potential(x, t);
    return p;
  }

 private:
  std::vector<FlowPointer<D>> flows_;
  std::vector<double> weights_;
};

}  // namespace

template <int D>
FlowPointer<D> uniform_flow(const Vec<double, D>& velocity) {
  require_finite_vector<D>(velocity, "velocity");
  return std::make_shared<Uniform<D>>(velocity);
}

FlowPointer<2> rotation(const Vec2& center, double rate) {
  require_finite_vector<2>(center, "center");
  require(std::isfinite(rate), "rate must be finite, got ", rate);
  return std::make_shared<Rotation2>(center, rate);
}

FlowPointer<3> rotation(const Vec3& center, const Vec3& angular_velocity) {
  require_finite_vector<3>(center, "center");
  require_finite_vector<3>(angular_velocity, "angular_velocity");
  return std::make_shared<Rotation3>(center, angular_velocity);
}

FlowPointer<3> vortex_ring(const Vec3& center, const Vec3& axis, double radius, double strength) {
  require_finite_vector<3>(center, "center");
  require_finite_vector<3>(axis, "axis");
  require(axis.norm() > 0, "axis must not be zero");
  require(std::isfinite(radius) && radius > 0, "radius must be positive and finite, got ", radius);
  require(std::isfinite(strength), "strength must be finite, got ", strength);
  return std::make_shared<VortexRing>(center, axis, radius, strength);
}

template <int D>
FlowPointer<D> source(const Vec<double, D>& center, double radius, double strength, double variation,
                      const numerics::FractalNoiseOptions& noise) {
  require_finite_vector<D>(center, "center");
  require(std::isfinite(radius) && radius > 0, "radius must be positive and finite, got ", radius);
  require(std::isfinite(strength), "strength must be finite, got ", strength);
  require(std::isfinite(variation), "variation must be finite, got ", variation);
  return std::make_shared<Source<D>>(center, radius, strength, variation, noise);
}

template <int D>
FlowPointer<D> curl_noise(double strength, const numerics::FractalNoiseOptions& noise, const std::optional<RampBox<D>>& ramp) {
  require(std::isfinite(strength), "strength must be finite, got ", strength);
  if (ramp) {
    require(std::isfinite(ramp->width) && ramp->width > 0, "the width of a ramp must be positive and finite, got ", ramp->width);
    require((ramp->upper - ramp->lower).minCoeff() > 0, "the upper corner of a ramp box must lie above the lower one");
  }
  return std::make_shared<CurlNoise<D>>(strength, noise, ramp);
}

namespace {
void check_box_flow(double length, double period) {
  require(std::isfinite(length) && length > 0, "length must be positive and finite, got ", length);
  require(std::isfinite(period) && period >= 0, "period must be finite and not negative, got ", period);
}
}  // namespace

FlowPointer<2> single_vortex(double length, double period) {
  check_box_flow(length, period);
  return std::make_shared<SingleVortex>(length, period);
}

FlowPointer<3> deformation_flow(double length, double period) {
  check_box_flow(length, period);
  return std::make_shared<Deformation>(length, period);
}

template <int D>
FlowPointer<D> weighted_sum(std::vector<FlowPointer<D>> flows, std::vector<double> weights) {
  require(flows.size() == weights.size(), "as many weights as flows: got ", weights.size(), " for ", flows.size());
  for (double w : weights) require(std::isfinite(w), "weights must be finite, got ", w);
  return std::make_shared<Sum<D>>(std::move(flows), std::move(weights));
}

#define MENISCUS_INSTANTIATE(D)                                                                                           \
  template FlowPointer<D> uniform_flow<D>(const Vec<double, D>&);                                                         \
  template FlowPointer<D> source<D>(const Vec<double, D>&, double, double, double, const numerics::FractalNoiseOptions&); \
  template FlowPointer<D> curl_noise<D>(double, const numerics::FractalNoiseOptions&, const std::optional<RampBox<D>>&);  \
  template FlowPointer<D> weighted_sum<D>(std::vector<FlowPointer<D>>, std::vector<double>);
MENISCUS_INSTANTIATE(2)
MENISCUS_INSTANTIATE(3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::fluids
