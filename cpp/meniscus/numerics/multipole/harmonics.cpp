#include "meniscus/numerics/multipole/harmonics.hpp"

#include <cmath>

namespace meniscus::numerics {

const HarmonicFactors& HarmonicFactors::get() {
  static const HarmonicFactors factors = [] {
    HarmonicFactors f;
    for (int n = 0; n <= largest_order + 1; ++n) {
      for (int m = 0; m <= n; ++m) {
        const double below = std::sqrt(static_cast<double>((n + 1) * (n + 1) - m * m));
        f.up.push_back((2 * n + 1) / below);
        f.down.push_back(std::sqrt(static_cast<double>(n * n - m * m)) / below);
      }
      f.diagonal.push_back(n < 2 ? 1.0 : std::sqrt((2.0 * n - 1.0) / (2.0 * n)));
    }
    return f;
  }();
  return factors;
}

namespace {
/// Adds the derivatives along x and y of the terms (n, m) that come from (d/dx + i d/dy) Q_n^m = -a Q_k^(m+1) and
/// (d/dx - i d/dy) Q_n^m = b Q_k^(m-1), where Q is the complex harmonic.
void add_in_plane(std::array<std::vector<DerivativeEntry>, 3>& tables, int n, int m, int k, double a, double b) {
  auto& [x, y, z] = tables;
  const auto add = [](std::vector<DerivativeEntry>& table, int of, int in, double factor) {
    if (factor != 0.0) table.push_back({of, in, factor});
  };
  const double half = 0.5, root = std::sqrt(0.5);
  if (m == 0) {
    if (k >= 1) {
      add(x, cosine(n, 0), cosine(k, 1), -a * root);
      add(y, cosine(n, 0), sine(k, 1), -a * root);
    }
    return;
  }
  if (m + 1 <= k) {
    add(x, cosine(n, m), cosine(k, m + 1), -half * a);
    add(x, sine(n, m), sine(k, m + 1), -half * a);
    add(y, cosine(n, m), sine(k, m + 1), -half * a);
    add(y, sine(n, m), cosine(k, m + 1), half * a);
  }
  if (m - 1 > k) return;
  const double lower = m == 1 ? b * root : half * b;
  add(x, cosine(n, m), cosine(k, m - 1), lower);
  add(y, sine(n, m), cosine(k, m - 1), lower);
  if (m > 1) {
    add(x, sine(n, m), sine(k, m - 1), half * b);
    add(y, cosine(n, m), sine(k, m - 1), -half * b);
  }
}
}  // namespace

DerivativeTables derivative_tables(int order) {
  DerivativeTables t;
  for (int n = 0; n <= order; ++n)
    for (int m = 0; m <= n; ++m) {
      const auto root = [](int square) { return std::sqrt(static_cast<double>(square)); };
      if (n > 0) {
        add_in_plane(t.regular, n, m, n - 1, root((n - m) * (n - m - 1)), root((n + m) * (n + m - 1)));
        if (m < n) {
          t.regular[2].push_back({cosine(n, m), cosine(n - 1, m), root(n * n - m * m)});
          if (m > 0) t.regular[2].push_back({sine(n, m), sine(n - 1, m), root(n * n - m * m)});
        }
      }
      add_in_plane(t.irregular, n, m, n + 1, root((n + m + 1) * (n + m + 2)), root((n - m + 1) * (n - m + 2)));
      t.irregular[2].push_back({cosine(n, m), cosine(n + 1, m), -root((n + 1) * (n + 1) - m * m)});
      if (m > 0) t.irregular[2].push_back({sine(n, m), sine(n + 1, m), -root((n + 1) * (n + 1) - m * m)});
    }
  return t;
}

}  // namespace meniscus::numerics
