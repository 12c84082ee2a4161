#include "meniscus/parallel/reductions.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace meniscus::parallel {
namespace {

/// Combines what all blocks hand in, in the order of their numbers.
template <class T, class Combine>
T combine(Transport& transport, const T& own, Combine&& join) {
  if (transport.count() == 1) return own;
  const auto count = static_cast<std::size_t>(transport.count());
  std::vector<T> all(count);
  transport.gather(&own, sizeof(T), all.data());
  T result = all[0];
  for (std::size_t b = 1; b < count; ++b) result = join(result, all[b]);
  return result;
}

}  // namespace

double global_max(Transport& transport, double value) {
  return combine(transport, std::isnan(value) ? std::numeric_limits<double>::infinity() : value,
                 [](double a, double b) { return std::max(a, b); });
}

double global_min(Transport& transport, double value) {
  return combine(transport, std::isnan(value) ? -std::numeric_limits<double>::infinity() : value,
                 [](double a, double b) { return std::min(a, b); });
}

Index global_sum(Transport& transport, Index value) {
  return combine(transport, value, [](Index a, Index b) { return a + b; });
}

bool global_any(Transport& transport, bool value) { return global_sum(transport, Index{value}) != 0; }

double global_sum(Transport& transport, const numerics::ExactSum& sum) {
  return combine(transport, sum,
                 [](numerics::ExactSum a, const numerics::ExactSum& b) {
                   a.add(b);
                   return a;
                 })
      .value();
}

Index sum_before(Transport& transport, Index value) {
  std::vector<Index> all(static_cast<std::size_t>(transport.count()));
  transport.gather(&value, sizeof value, all.data());
  Index sum = 0;
  for (std::size_t b = 0; b < static_cast<std::size_t>(transport.number()); ++b) sum += all[b];
  return sum;
}

}  // namespace meniscus::parallel
