#include "meniscus/surface/tracking/small_parts.hpp"

namespace meniscus::surface {

bool find_small_part(const mesh::DynamicSurface& s, std::int32_t first, std::int32_t lowest, SmallPart& out) {
  std::vector<std::int32_t>& part = out.triangles;
  part.assign(1, first);
  for (std::size_t i = 0; i < part.size(); ++i) {
    const mesh::Triangle corners = s.triangle(part[i]);
    for (const std::int32_t v : corners)
      for (const std::int32_t t : s.star(v)) {
        if (std::find(part.begin(), part.end(), t) != part.end()) continue;
        if (t < lowest || part.size() == most_of_small_part) return false;
        part.push_back(t);
      }
  }
  const mesh::Point& origin = s.position(s.triangle(first)[0]);
  out.volume = 0;
  out.closed = true;
  for (const std::int32_t t : part) {
    const mesh::Triangle& c = s.triangle(t);
    out.volume += (s.position(c[0]) - origin).dot((s.position(c[1]) - origin).cross(s.position(c[2]) - origin)) / 6;
    for (std::size_t k = 0; k < 3; ++k) out.closed &= s.count_at_edge(c[k], c[(k + 1) % 3]) > 1;
  }
  return true;
}

}  // namespace meniscus::surface
