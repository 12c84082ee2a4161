#include "meniscus/numerics/multipole/fast_multipole.hpp"

#include "meniscus/core/parallel.hpp"
#include "meniscus/numerics/multipole/multipole_passes.hpp"

#include <cmath>
#include <numbers>

namespace meniscus::numerics {
namespace {
constexpr Index piece = 8192;

/// The order of expansions for an accuracy: a fit to the errors of gradients of charges of random signs in a cube, the greatest
/// of those found in cubes, spheres, plumes and clusters.
int order_for(double accuracy) {
  const double digits = -std::log10(accuracy);
  return std::clamp(static_cast<int>(std::ceil(digits * (0.75 + 0.25 * digits) + 0.3)), 2, largest_order);
}

/// Points of a leaf for which translations and pairs of points take about the same time.
Index most_points_for(int order) { return 10 + 8 * order; }

double core_error(double accuracy) { return 0.1 * accuracy; }

PairKernel vortex_kernel(BiotSavartKernel vortex, double core) { return {PairSum::vortices, vortex, core}; }

OctreeOptions tree_options(const MultipoleOptions& options, int order) {
  constexpr double mean_part = 0.6;  // of the most points of a leaf
  OctreeOptions o;
  o.most_points = options.most_points > 0 ? options.most_points : most_points_for(order);
  o.mean_points = mean_part * static_cast<double>(o.most_points);
  o.least_side = vortex_kernel(options.vortex, options.core).reach(core_error(options.accuracy));
  return o;
}

void by_columns(const double* points, Index n, std::vector<double>& columns) {
  columns.resize(3 * n);
  parallel_for(0, n, piece, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i)
      for (int d = 0; d < 3; ++d) columns[d * n + i] = points[3 * i + d];
  });
}

/// Sums point by point into rows of values; strengths are columns of rows.
void direct(const PairKernel& kernel, const double* sources, Index n, const double* targets, Index m,
            std::span<const double* const> strengths, std::span<double* const> values) {
  std::vector<double> s, t;
  by_columns(sources, n, s);
  if (targets) by_columns(targets, m, t);
  const double* x = targets ? t.data() : s.data();
  const PointRange all{s.data(), s.data() + n, s.data() + 2 * n, 0, n};
  constexpr Index targets_per_task = 32, sources_at_once = 4096;
  parallel_for(0, m, targets_per_task, [&](Index begin, Index end) {
    for (Index j = 0; j < n; j += sources_at_once) {
      const SourceRange range{static_cast<std::int32_t>(j), static_cast<std::int32_t>(std::min(n, j + sources_at_once))};
      add_pairs(kernel, {x, x + m, x + 2 * m, begin, end}, all, strengths, {&range, 1}, values);
    }
  });
}
}  // namespace

FastMultipole::FastMultipole(const double* sources, Index n, const double* targets, Index m, const MultipoleOptions& options)
    : order_(options.order > 0 ? options.order : order_for(options.accuracy)),
      vortex_(options.vortex),
      core_(options.core),
      tree_(sources, n, targets, m, tree_options(options, order_)) {
  tree_.find_near(few_points(order_));
}

/// Dipoles are one more derivative, which takes some more terms.
int FastMultipole::order_of(const PairKernel& kernel) const {
  constexpr int more = 4;
  return kernel.sum == PairSum::dipoles ? std::min(order_ + more, largest_order) : order_;
}

Index FastMultipole::bytes() const {
  return tree_.bytes() +
         static_cast<Index>((strengths_.capacity() + values_.capacity() + multipoles_.capacity() + locals_.capacity()) *
                            sizeof(double));
}

void FastMultipole::evaluate(const PairKernel& kernel, std::span<const Column> strengths) const {
  const int order = order_of(kernel);
  const Index n = sources(), m = targets(), size = boxes() * MultipolePasses::densities(kernel) * terms(order);
  strengths_.resize(kernel.strengths() * n);
  values_.resize(kernel.values() * m);
  if (static_cast<Index>(multipoles_.size()) < size) {
    multipoles_.resize(size);
    locals_.resize(size);
  }
  std::array<const double*, 4> from{};
  std::array<double*, 12> to{};
  for (int k = 0; k < kernel.strengths(); ++k) from[k] = strengths_.data() + k * n;
  for (int k = 0; k < kernel.values(); ++k) to[k] = values_.data() + k * m;
  parallel_for(0, n, piece, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) {
      const Index row = tree_.sources().order[i];
      for (int k = 0; k < kernel.strengths(); ++k)
        strengths_[k * n + i] = strengths[k].first ? strengths[k].first[row * strengths[k].stride] : 0.0;
    }
  });
  parallel_for(0, static_cast<Index>(values_.size()), Index{1} << 16,
               [&](Index begin, Index end) { std::fill(values_.begin() + begin, values_.begin() + end, 0.0); });
  MultipolePasses(tree_, order, few_points(order_), kernel, std::span(from).first(kernel.strengths()),
                  std::span(to).first(kernel.values()), multipoles_.data(), locals_.data())
      .run();
}

void FastMultipole::store(int value, double factor, double* first, Index stride) const {
  const Index m = targets();
  parallel_for(0, m, piece, [&](Index begin, Index end) {
    for (Index i = begin; i < end; ++i) first[tree_.targets().order[i] * stride] = factor * values_[value * m + i];
  });
}

void FastMultipole::laplace(const double* charges, int columns, double* potential, double* gradient) const {
  const std::scoped_lock lock(busy_);
  const auto run = [&](PairSum sum, int first, int count) {
    std::array<Column, 3> strengths{};
    for (int k = 0; k < count; ++k) strengths[k] = {charges + first + k, columns};
    evaluate({sum, BiotSavartKernel::singular, 0.0}, std::span(strengths).first(count));
    for (int k = 0; k < count; ++k) {
      store(4 * k, 1.0, potential + first + k, columns);
      for (int d = 0; d < 3; ++d) store(4 * k + 1 + d, 1.0, gradient + 3 * (first + k) + d, 3 * columns);
    }
  };
  int k = 0;
  for (; k + 3 <= columns; k += 3) run(PairSum::three_charges, k, 3);
  for (; k < columns; ++k) run(PairSum::charges, k, 1);
}

void FastMultipole::laplace(const double* charges, const double* dipoles, double* potential, double* gradient) const {
  const std::scoped_lock lock(busy_);
  const std::array<Column, 4> strengths{{{charges, 1}, {dipoles, 3}, {dipoles + 1, 3}, {dipoles + 2, 3}}};
  evaluate({PairSum::dipoles, BiotSavartKernel::singular, 0.0}, strengths);
  store(0, 1.0, potential, 1);
  for (int d = 0; d < 3; ++d) store(1 + d, 1.0, gradient + d, 3);
}

void FastMultipole::biot_savart(const double* strengths, double* velocity) const {
  const std::scoped_lock lock(busy_);
  const std::array<Column, 3> columns{{{strengths, 3}, {strengths + 1, 3}, {strengths + 2, 3}}};
  evaluate(vortex_kernel(vortex_, core_), columns);
  for (int d = 0; d < 3; ++d) store(d, 0.25 / std::numbers::pi, velocity + d, 3);
}

void direct_laplace(const double* sources, Index n, const double* targets, Index m, const double* charges, const double* dipoles,
                    double* potential, double* gradient) {
  std::vector<double> values(4 * m, 0.0), moments;
  std::array<double*, 4> to{};
  for (int k = 0; k < 4; ++k) to[k] = values.data() + k * m;
  std::array<const double*, 4> from{charges};
  if (dipoles) {
    by_columns(dipoles, n, moments);
    for (int k = 0; k < 3; ++k) from[k + 1] = moments.data() + k * n;
  }
  direct({dipoles ? PairSum::dipoles : PairSum::charges, BiotSavartKernel::singular, 0.0}, sources, n, targets, m,
         std::span(from).first(dipoles ? 4 : 1), to);
  for (Index i = 0; i < m; ++i) {
    potential[i] = values[i];
    for (int d = 0; d < 3; ++d) gradient[3 * i + d] = values[(d + 1) * m + i];
  }
}

void direct_biot_savart(const double* sources, Index n, const double* targets, Index m, const double* strengths,
                        BiotSavartKernel vortex, double core, double* velocity) {
  std::vector<double> values(3 * m, 0.0), columns;
  by_columns(strengths, n, columns);
  std::array<double*, 3> to{};
  std::array<const double*, 3> from{};
  for (int k = 0; k < 3; ++k) to[k] = values.data() + k * m, from[k] = columns.data() + k * n;
  direct(vortex_kernel(vortex, core), sources, n, targets, m, from, to);
  for (Index i = 0; i < m; ++i)
    for (int d = 0; d < 3; ++d) velocity[3 * i + d] = values[d * m + i] * (0.25 / std::numbers::pi);
}

}  // namespace meniscus::numerics
