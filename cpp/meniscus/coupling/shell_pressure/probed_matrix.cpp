#include "meniscus/coupling/shell_pressure/probed_matrix.hpp"

#include <algorithm>

namespace meniscus::coupling {

namespace {

using NodeRows = std::vector<std::vector<std::int32_t>>;

void sort_rows(NodeRows& rows) {
  for (auto& row : rows) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
  }
}

/// The rows of the rows: what is two steps away.
NodeRows twice(const NodeRows& rows) {
  NodeRows out(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (const std::int32_t k : rows[i]) {
      const auto& further = rows[k];
      out[i].insert(out[i].end(), further.begin(), further.end());
    }
  sort_rows(out);
  return out;
}

/// Colours so that no two nodes of one row have the same.
std::vector<int> coloured(const NodeRows& rows, int& count) {
  const NodeRows apart = twice(rows);
  std::vector<int> colour(rows.size(), -1), seen;
  count = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    seen.assign(static_cast<std::size_t>(count) + 1, 0);
    for (const std::int32_t k : apart[i]) {
      const int c = colour[k];
      if (c >= 0) seen[c] = 1;
    }
    colour[i] = static_cast<int>(std::find(seen.begin(), seen.end(), 0) - seen.begin());
    count = std::max(count, colour[i] + 1);
  }
  return colour;
}

}  // namespace

NodeRows nodes_within_two_elements(std::span<const std::int32_t> elements, int corners, Index nodes) {
  const auto width = static_cast<std::size_t>(corners);
  NodeRows near(nodes);
  for (std::size_t i = 0; i < near.size(); ++i) near[i].push_back(static_cast<std::int32_t>(i));
  for (std::size_t e = 0; e + width <= elements.size(); e += width)
    for (std::size_t k = 0; k < width; ++k)
      for (std::size_t l = 0; l < width; ++l) near[elements[e + k]].push_back(elements[e + l]);
  sort_rows(near);
  return twice(near);
}

void probe_entries(const NodeRows& rows, const NodalProduct& product, NodalTriplets& out) {
  int count = 0;
  const std::vector<int> colour = coloured(rows, count);
  std::vector<std::vector<std::size_t>> of_colour(count);
  for (std::size_t i = 0; i < rows.size(); ++i) of_colour[colour[i]].push_back(i);
  std::vector<mesh::Point> v(rows.size(), mesh::Point::Zero()), f(rows.size());
  for (const auto& nodes : of_colour)
    for (int axis = 0; axis < 3; ++axis) {
      for (const std::size_t j : nodes) v[j][axis] = 1;
      product(v, f);
      // Rows are symmetric: node j is in the row of i where i is in that of j.
      for (const std::size_t j : nodes) {
        for (const std::int32_t i : rows[j])
          for (int k = 0; k < 3; ++k)
            if (const double value = f[i][k]; value != 0) out.emplace_back(3 * i + k, 3 * static_cast<int>(j) + axis, value);
        v[j][axis] = 0;
      }
    }
}

}  // namespace meniscus::coupling
