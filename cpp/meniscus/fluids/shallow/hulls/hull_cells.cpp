#include "meniscus/fluids/shallow/hulls/hull_cells.hpp"

#include <cmath>

namespace meniscus::fluids {

HullCells::HullCells(const ShallowLayout& layout, double spacing, std::array<double, 2> origin)
    : layout_(layout), spacing_(spacing), origin_(origin), number_(layout.size(), -1) {
  cells_.reserve(layout.nx * layout.ny);
}

void HullCells::clear() {
  for (const HullCell& cell : cells_) number_[layout_.at(cell.i, cell.j)] = -1;
  cells_.clear();
}

void HullCells::add(int number, std::span<const double> vertices, std::span<const std::int32_t> triangles) {
  for (Index t = 0; t < std::ssize(triangles); t += 3) {
    double x[3], y[3], z[3];
    for (int c = 0; c < 3; ++c) {
      const Index v = 3 * Index{triangles[t + c]};
      x[c] = (vertices[v] - origin_[0]) / spacing_ - 0.5;
      y[c] = (vertices[v + 1] - origin_[1]) / spacing_ - 0.5;
      z[c] = vertices[v + 2];
    }
    const double ax = x[1] - x[0], ay = y[1] - y[0], bx = x[2] - x[0], by = y[2] - y[0];
    const double area = ax * by - ay * bx;
    if (!(area < 0)) continue;  // seen from above it turns clockwise: the underside
    const double az = z[1] - z[0], bz = z[2] - z[0];
    // Slope of the hull per cell; its normal is (-dz/dx, -dz/dy, 1) up to the sign.
    const double dx = (az * by - bz * ay) / area, dy = (bz * ax - az * bx) / area;
    const Index i0 = std::max<Index>(0, static_cast<Index>(std::ceil(std::min({x[0], x[1], x[2]}))));
    const Index i1 = std::min<Index>(layout_.nx - 1, static_cast<Index>(std::floor(std::max({x[0], x[1], x[2]}))));
    const Index j0 = std::max<Index>(0, static_cast<Index>(std::ceil(std::min({y[0], y[1], y[2]}))));
    const Index j1 = std::min<Index>(layout_.ny - 1, static_cast<Index>(std::floor(std::max({y[0], y[1], y[2]}))));
    for (Index i = i0; i <= i1; ++i)
      for (Index j = j0; j <= j1; ++j) {
        const double px = static_cast<double>(i) - x[0], py = static_cast<double>(j) - y[0];
        const double s = (px * by - py * bx) / area, r = (ax * py - ay * px) / area;
        if (s < 0 || r < 0 || s + r > 1) continue;
        const double roof = z[0] + dx * px + dy * py;
        int& place = number_[layout_.at(i, j)];
        if (place < 0) {
          place = static_cast<int>(cells_.size());
          cells_.push_back({i, j, -1, 1e300});
        }
        HullCell& cell = cells_[place];
        if (roof < cell.roof) cell = {i, j, number, roof, -dx / spacing_, -dy / spacing_, 0.0};
      }
  }
}

}  // namespace meniscus::fluids
