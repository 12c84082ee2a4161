#include "meniscus/core/cancellation.hpp"
#include "meniscus/solids/cloth/sheet_editor.hpp"
#include "meniscus/surface/tracking/edge_lists.hpp"

namespace meniscus::solids {
namespace {

using mesh::EventKind;
using surface::AskAt;

constexpr int most_passes = 10;
constexpr int flip_sweeps = 5;

std::vector<std::int32_t> all_triangles(const mesh::DynamicSurface& s) {
  std::vector<std::int32_t> all(s.slots());
  for (std::int32_t t = 0; t < s.slots(); ++t) all[t] = t;
  return all;
}

}  // namespace

void SheetEditor::split_edges() {
  surface::EdgeList list;
  std::vector<std::int32_t> triangles = all_triangles(mesh());
  for (int pass = 0; pass < most_passes && !triangles.empty(); ++pass) {
    surface::collect_edges(mesh(), triangles, AskAt::every_triangle, list, [&](std::int32_t a, std::int32_t b) {
      const double size = size_of(a, b);
      return size > options_.split_above ? -size : 0.0;
    });
    triangles.clear();
    for (const surface::RankedEdge& e : list.edges) {
      check_interrupt();
      if (mesh().count_at_edge(e.a, e.b) == 0) continue;
      const Refusal end = split(e.a, e.b);
      counts_.split.add(end);
      if (end == Refusal::none) triangles.insert(triangles.end(), editor_.changed().begin(), editor_.changed().end());
    }
  }
}

void SheetEditor::flip_edges() {
  surface::EdgeList list;
  std::vector<std::int32_t> triangles = all_triangles(mesh());
  for (int sweep = 0; sweep < flip_sweeps && !triangles.empty(); ++sweep) {
    const auto wanted = [&](std::int32_t a, std::int32_t b) {
      const auto pair = mesh().pair_at(a, b);
      if (!pair) return false;
      const std::int32_t c = mesh().opposite((*pair)[0], a, b), d = mesh().opposite((*pair)[1], a, b);
      return c != d && improves(a, b, c, d) && size_of(c, d) <= std::max(options_.collapse_to, size_of(a, b));
    };
    surface::collect_edges(mesh(), triangles, AskAt::every_triangle, list,
                           [&](std::int32_t a, std::int32_t b) { return wanted(a, b) ? -size_of(a, b) : 0.0; });
    triangles.clear();
    for (const surface::RankedEdge& e : list.edges) {
      check_interrupt();
      if (mesh().count_at_edge(e.a, e.b) != 2 || !wanted(e.a, e.b)) continue;
      const Refusal end = flip(e.a, e.b);
      counts_.flip.add(end);
      if (end != Refusal::none) continue;
      for (const std::int32_t t : editor_.changed())
        for (const std::int32_t v : mesh().triangle(t))
          triangles.insert(triangles.end(), mesh().star(v).begin(), mesh().star(v).end());
    }
    std::sort(triangles.begin(), triangles.end());
    triangles.erase(std::unique(triangles.begin(), triangles.end()), triangles.end());
  }
}

void SheetEditor::collapse_edges() {
  surface::EdgeList list;
  std::vector<std::int32_t> triangles = all_triangles(mesh());
  for (int pass = 0; pass < most_passes && !triangles.empty(); ++pass) {
    surface::collect_edges(mesh(), triangles, AskAt::every_triangle, list, [&](std::int32_t a, std::int32_t b) {
      const double size = size_of(a, b);
      return size < options_.collapse_below ? size - 1 : 0.0;
    });
    triangles.clear();
    for (const surface::RankedEdge& e : list.edges) {
      check_interrupt();
      if (mesh().count_at_edge(e.a, e.b) == 0 || size_of(e.a, e.b) >= options_.collapse_below) continue;
      const Refusal end = collapse(e.a, e.b);
      counts_.collapse.add(end);
      if (end == Refusal::none) triangles.insert(triangles.end(), editor_.changed().begin(), editor_.changed().end());
    }
  }
}

void SheetEditor::improve() {
  by_size_ = true;
  if (options_.split) split_edges();
  if (options_.flip) flip_edges();
  if (!options_.collapse) return;
  const Index before = counts_.collapse.done();
  collapse_edges();
  if (options_.flip && counts_.collapse.done() > before) flip_edges();
}

void SheetEditor::apply(EventKind kind, std::span<const std::int32_t> rows, std::vector<Refusal>& ends) {
  by_size_ = false;
  ends.clear();
  for (std::size_t i = 0; i + 1 < rows.size(); i += 2) {
    check_interrupt();
    const std::int32_t a = rows[i], b = rows[i + 1];
    const bool there = a >= 0 && b >= 0 && a < mesh().vertices() && b < mesh().vertices() && mesh().count_at_edge(a, b) > 0;
    Refusal end = Refusal::topology;
    if (there) end = kind == EventKind::split ? split(a, b) : kind == EventKind::flip ? flip(a, b) : collapse(a, b);
    auto& counts = kind == EventKind::split ? counts_.split : kind == EventKind::flip ? counts_.flip : counts_.collapse;
    counts.add(end);
    ends.push_back(end);
  }
}

void SheetEditor::finish(Sheet& out) {
  editor_.finish(out.positions, out.triangles, out.held);
  out.rest.clear();
  out.velocities.clear();
  for (const std::int32_t v : editor_.events().vertices) {
    out.rest.push_back(rest_[v]);
    out.velocities.push_back(velocity_[v]);
  }
}

}  // namespace meniscus::solids
