#include "meniscus/collision/ray_casting/swept_points.hpp"

#include "meniscus/collision/continuous/continuous_collision.hpp"
#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

namespace meniscus::collision {
namespace {

constexpr Index triangle_chunk = 2048;
constexpr Index point_chunk = 64;
constexpr std::size_t batch = 32;  // contact tests answered together

/// Contact tests of some points, gathered and answered together. Nothing is allocated.
class ContactBatch {
 public:
  explicit ContactBatch(std::span<bool> out) : out_(out) {}

  void add(std::size_t point, const std::array<mesh::Point, 4>& start, const std::array<mesh::Point, 4>& end) {
    std::copy(start.begin(), start.end(), start_.begin() + static_cast<Index>(4 * size_));
    std::copy(end.begin(), end.end(), end_.begin() + static_cast<Index>(4 * size_));
    for (std::size_t k = 0; k < 4; ++k) pairs_[size_][k] = static_cast<std::int32_t>(4 * size_ + k);
    points_[size_] = point;
    if (++size_ == batch) flush();
  }
  void flush() {
    std::array<std::uint8_t, batch> met;
    find_contacts(PairKind::vertex_face, ContactMode::any, start_, end_, {pairs_.data(), size_}, met.data());
    for (std::size_t i = 0; i < size_; ++i)
      if (met[i]) out_[points_[i]] = true;
    size_ = 0;
  }

 private:
  std::span<bool> out_;
  std::size_t size_ = 0;
  std::array<mesh::Point, 4 * batch> start_, end_;
  std::array<Stencil, batch> pairs_;
  std::array<std::size_t, batch> points_;
};

}  // namespace

void swept_points(const ThickSurface& start, const ThickSurface& end, std::span<const mesh::Point> points,
                  std::span<const mesh::Point> end_points, std::span<bool> out) {
  const auto triangles = start.triangles();
  require(end.triangles().size() == triangles.size(), "both surfaces must have the same triangles");
  require(end_points.empty() || end_points.size() == points.size(), "end_points must have ", points.size(), " rows, not ",
          end_points.size());
  const auto final_points = end_points.empty() ? points : end_points;
  std::vector<mesh::Box> boxes(triangles.size());
  parallel_for(0, static_cast<Index>(triangles.size()), triangle_chunk, [&](Index b, Index e) {
    for (Index t = b; t < e; ++t) {
      boxes[t] = start.triangle_box(t);
      boxes[t].add(end.triangle_box(t));
    }
  });
  const mesh::BoxTree tree(boxes);
  const auto corners = [&](Index t, const ThickSurface& s, const mesh::Point& p) {
    std::array<mesh::Point, 4> c{p};
    for (std::size_t k = 0; k < 3; ++k) c[k + 1] = s.vertices()[triangles[t][k]];
    return c;
  };
  parallel_for(0, static_cast<Index>(points.size()), point_chunk, [&](Index b, Index e) {
    ContactBatch contacts(out);
    for (Index i = b; i < e; ++i) {
      out[i] = start.inside(points[i]) || end.inside(final_points[i]);
      mesh::Box way;
      way.add(points[i]);
      way.add(final_points[i]);
      if (out[i]) continue;
      tree.any_overlap(way, [&](Index slot) {
        const Index t = tree.element(slot);
        contacts.add(i, corners(t, start, points[i]), corners(t, end, final_points[i]));
        return out[i];
      });
    }
    contacts.flush();
  });
}

}  // namespace meniscus::collision
