// Which nodes, edges and triangles are near which convex bodies in the next substeps.
#include "meniscus/core/parallel.hpp"
#include "meniscus/solids/real_time/convex_contacts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace meniscus::solids {
namespace {

constexpr Index elements_per_piece = 2048;
/// Of the thickness: what candidates may move beyond their expected ways before they are looked for again.
constexpr double slack_of_thickness = 5;
/// Ways are expected at most as long as this multiple of the mean reach of the bodies, which bounds the work.
constexpr double longest_way = 1;
constexpr int most_cells_along = 64;

mesh::Point place_at(const PositionNode<double>& n) { return {n.x, n.y, n.z}; }

bool meet(const mesh::Box& a, const mesh::Box& b) {
  return (a.low.array() <= b.high.array()).all() && (b.low.array() <= a.high.array()).all();
}

bool within(const mesh::Box& inner, const mesh::Box& outer) {
  return (outer.low.array() <= inner.low.array()).all() && (inner.high.array() <= outer.high.array()).all();
}

}  // namespace

void ConvexContacts::set_up(NodeSurfaces surfaces, std::vector<ConvexBody> given) {
  surfaces_ = std::move(surfaces);
  bodies = std::move(given);
  motions.assign(bodies.size(), {});
  rows_.assign(bodies.size(), {});
  local_.assign(bodies.size(), {});
  double reach = 0, thickness = 0;
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    const RigidForm& form = *bodies[b].form;
    for (const Vector3& v : form.vertices) local_[b].add(v);
    local_[b].low.array() -= form.radius;
    local_[b].high.array() += form.radius;
    reach += form.reach / static_cast<double>(bodies.size());
    thickness = std::max(thickness, bodies[b].thickness);
  }
  double own = 0;
  for (const std::int32_t v : surfaces_.vertices) own = std::max(own, surfaces_.thickness[v]);
  slack_ = slack_of_thickness * 0.5 * (own + thickness);
  most_ = longest_way * reach;
  edges_.set_up(surfaces_.edges, surfaces_.thickness.size(), surfaces_.rest, 2 * slack_);
  triangles_.set_up(surfaces_.triangles, surfaces_.thickness.size(), surfaces_.rest, 2 * slack_);
  ways_.assign(surfaces_.thickness.size(), {});
  stamp_.assign(surfaces_.thickness.size(), -1);
  slot_of_.assign(surfaces_.thickness.size(), 0);
}

mesh::Box ConvexContacts::box_of(const ConvexBody& body, const FormPose& pose, double slack) const {
  const mesh::Box& local = local_[&body - bodies.data()];
  const Vector3 centre = pose(0.5 * (local.low + local.high));
  const Vector3 half = pose.rotation.cwiseAbs() * (0.5 * (local.high - local.low)) + Vector3::Constant(slack);
  mesh::Box box;
  box.add(centre - half);
  box.add(centre + half);
  return box;
}

void ConvexContacts::fill_cells() {
  mesh::Box all;
  double side = 0;
  for (const Swept& s : swept_) {
    all.add(s.box.low);
    all.add(s.box.high);
    side += (s.box.high - s.box.low).maxCoeff() / static_cast<double>(swept_.size());
  }
  origin_ = all.low;
  const double longest = (all.high - all.low).maxCoeff();
  cell_ = std::max({side, longest / most_cells_along, 1e-300});
  for (int d = 0; d < 3; ++d)
    cells_[d] = std::clamp(static_cast<int>((all.high - all.low)[d] / cell_) + 1, 1, most_cells_along + 1);
  const std::size_t count = static_cast<std::size_t>(cells_[0]) * static_cast<std::size_t>(cells_[1] * cells_[2]);
  cell_first_.assign(count + 1, 0);
  const auto each_cell = [&](const Swept& s, auto&& f) {
    for (int i = s.low[0]; i <= s.high[0]; ++i)
      for (int j = s.low[1]; j <= s.high[1]; ++j)
        for (int k = s.low[2]; k <= s.high[2]; ++k) f((i * cells_[1] + j) * cells_[2] + k);
  };
  for (Swept& s : swept_) {
    for (std::size_t d = 0; d < 3; ++d) {
      const auto e = static_cast<Eigen::Index>(d);
      s.low[d] = std::clamp(static_cast<int>((s.box.low[e] - origin_[e]) / cell_), 0, cells_[d] - 1);
      s.high[d] = std::clamp(static_cast<int>((s.box.high[e] - origin_[e]) / cell_), 0, cells_[d] - 1);
    }
    each_cell(s, [&](std::size_t c) { ++cell_first_[c + 1]; });
  }
  std::partial_sum(cell_first_.begin(), cell_first_.end(), cell_first_.begin());
  cell_bodies_.resize(cell_first_.back());
  for (std::size_t b = swept_.size(); b-- > 0;)
    each_cell(swept_[b], [&](std::size_t c) { cell_bodies_[--cell_first_[c + 1]] = static_cast<std::int32_t>(b); });
  // Filled from behind: each entry now is the first of its cell.
  cell_first_.erase(cell_first_.begin());
  cell_first_.push_back(static_cast<std::int32_t>(cell_bodies_.size()));
}

template <class Vertices>
void ConvexContacts::find_elements(Index count, Near& out, Vertices&& vertices_of) {
  const Index pieces = (count + elements_per_piece - 1) / elements_per_piece;
  if (out.found.size() < static_cast<std::size_t>(pieces)) out.found.resize(pieces);
  parallel_for(0, count, elements_per_piece, [&](Index from, Index to) {
    auto& found = out.found[from / elements_per_piece];
    found.clear();
    for (Index i = from; i < to; ++i) {
      mesh::Box box;
      for (const std::int32_t v : vertices_of(i)) {
        const mesh::Box& own = ways_[v];
        box.low = box.low.cwiseMin(own.low);
        box.high = box.high.cwiseMax(own.high);
      }
      std::array<int, 3> low{}, high{};
      bool beside = false;
      for (std::size_t d = 0; d < 3; ++d) {
        const auto e = static_cast<Eigen::Index>(d);
        const double a = (box.low[e] - origin_[e]) / cell_, b = (box.high[e] - origin_[e]) / cell_;
        beside |= !(b >= 0 && a <= cells_[d]);
        low[d] = static_cast<int>(std::clamp(a, 0.0, cells_[d] - 1.0));
        high[d] = static_cast<int>(std::clamp(b, 0.0, cells_[d] - 1.0));
      }
      if (beside) continue;
      for (int x = low[0]; x <= high[0]; ++x)
        for (int y = low[1]; y <= high[1]; ++y)
          for (int z = low[2]; z <= high[2]; ++z) {
            const Index c = (x * cells_[1] + y) * cells_[2] + z;
            for (std::int32_t k = cell_first_[c]; k < cell_first_[c + 1]; ++k) {
              const std::int32_t b = cell_bodies_[k];
              const Swept& s = swept_[b];
              // In the first of their common cells.
              if (std::max(low[0], s.low[0]) != x || std::max(low[1], s.low[1]) != y || std::max(low[2], s.low[2]) != z) continue;
              if (meet(box, s.box)) found.push_back({b, static_cast<std::int32_t>(i)});
            }
          }
    }
  });
  out.first.assign(bodies.size() + 1, 0);
  const std::span pieces_found(out.found.data(), static_cast<std::size_t>(pieces));
  for (const auto& f : pieces_found)
    for (const auto& p : f) ++out.first[static_cast<std::size_t>(p[0]) + 1];
  std::partial_sum(out.first.begin(), out.first.end(), out.first.begin());
  out.elements.resize(out.first.back());
  order_.assign(bodies.size(), 0);
  for (const auto& f : pieces_found)
    for (const auto& p : f) {
      const Index b = p[0];
      out.elements[out.first[b] + order_[b]++] = p[1];
    }
}

void ConvexContacts::find(std::span<const Node> start, std::span<const Node> predicted, int substeps) {
  if (empty()) return;
  const double ahead = substeps;
  parallel_for(0, static_cast<Index>(surfaces_.vertices.size()), elements_per_piece, [&](Index from, Index to) {
    for (Index i = from; i < to; ++i) {
      const Index v = surfaces_.vertices[i];
      const mesh::Point x = place_at(start[v]);
      mesh::Point way = ahead * (place_at(predicted[v]) - x);
      if (const double length = way.norm(); length > most_) way *= most_ / length;
      const double slack = 0.5 * (surfaces_.thickness[v] + slack_);
      // The first step is what it is.
      mesh::Box box;
      box.add(x);
      box.add(mesh::Point(x + way));
      box.add(place_at(predicted[v]));
      box.low.array() -= slack;
      box.high.array() += slack;
      ways_[v] = box;
    }
  });
  swept_.resize(bodies.size());
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    const ConvexMotion& m = motions[b];
    const double slack = 0.5 * (bodies[b].thickness + slack_);
    mesh::Box box = box_of(bodies[b], m.start, slack);
    const mesh::Box next = box_of(bodies[b], m.now, slack);
    Vector3 way = ahead * (m.now.position - m.start.position);
    if (const double length = way.norm(); length > most_) way *= most_ / length;
    const double turn = std::min(0.5 * ahead * (m.now.rotation - m.start.rotation).norm(), 0.5) * bodies[b].form->reach;
    mesh::Box whole = box;
    whole.add(next.low);
    whole.add(next.high);
    whole.add(mesh::Point(box.low + way));
    whole.add(mesh::Point(box.high + way));
    whole.low.array() -= turn;
    whole.high.array() += turn;
    swept_[b].box = whole;
  }
  fill_cells();
  const auto own = [&](std::size_t i) { return std::array{surfaces_.vertices[i]}; };
  find_elements(static_cast<Index>(surfaces_.vertices.size()), near_vertices_, own);
  find_elements(static_cast<Index>(edges_.coarse.size()), near_edges_, [&](std::size_t i) { return edges_.coarse[i]; });
  find_elements(static_cast<Index>(triangles_.coarse.size()), near_triangles_,
                [&](std::size_t i) { return triangles_.coarse[i]; });
  number_slots();
  colour(start);
}

bool ConvexContacts::outdated(std::span<const Node> predicted) const {
  if (swept_.size() != bodies.size()) return true;
  for (std::size_t b = 0; b < bodies.size(); ++b)
    if (!within(box_of(bodies[b], motions[b].now, 0.5 * bodies[b].thickness), swept_[b].box)) return true;
  return parallel_reduce(
             0, static_cast<Index>(surfaces_.vertices.size()), elements_per_piece, 0,
             [&](Index from, Index to) {
               int far = 0;
               for (Index i = from; i < to; ++i) {
                 const Index v = surfaces_.vertices[i];
                 const mesh::Point x = place_at(predicted[v]);
                 const double h = 0.5 * surfaces_.thickness[v];
                 const mesh::Box& box = ways_[v];
                 far |= (x.array() - h < box.low.array()).any() || (x.array() + h > box.high.array()).any() ? 1 : 0;
               }
               return far;
             },
             [](int a, int b) { return a | b; }) != 0;
}

std::int32_t ConvexContacts::slot_of(std::size_t body, std::int32_t vertex) {
  const Index v = vertex;
  if (stamp_[v] != static_cast<std::int32_t>(body)) {
    stamp_[v] = static_cast<std::int32_t>(body);
    slot_of_[v] = static_cast<std::int32_t>(slots_.size());
    slots_.push_back({vertex, -1, 0.5 * (surfaces_.thickness[v] + bodies[body].thickness), 0.0, Vector3::Zero()});
  }
  return slot_of_[v];
}

template <std::size_t n>
void ConvexContacts::Elements<n>::set_up(const std::vector<Element>& all, std::size_t vertices,
                                         const std::vector<mesh::Point>& rest, double longest) {
  coarse.clear();
  fine.clear();
  for (const Element& e : all) {
    double length = 0;
    for (std::size_t k = 0; k < n; ++k) length = std::max(length, (rest[e[k]] - rest[e[(k + 1) % n]]).norm());
    (length > longest ? coarse : fine).push_back(e);
  }
  first.assign(vertices + 1, 0);
  for (const Element& e : fine)
    for (const std::int32_t v : e) ++first[static_cast<std::size_t>(v) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  around.resize(n * fine.size());
  std::vector<std::int32_t> place(first.begin(), first.end() - 1);
  for (std::size_t i = 0; i < fine.size(); ++i)
    for (const std::int32_t v : fine[i]) around[place[v]++] = static_cast<std::int32_t>(i);
}

template <std::size_t n>
Index ConvexContacts::Elements<n>::nbytes() const {
  const auto bytes = []<class U>(const std::vector<U>& v) { return static_cast<Index>(v.capacity() * sizeof(U)); };
  return bytes(coarse) + bytes(fine) + bytes(first) + bytes(around) + bytes(slots) + bytes(slot_first);
}

template <std::size_t n>
void ConvexContacts::number_elements(std::size_t body, const Near& near, Elements<n>& of, std::size_t begin, std::size_t end) {
  const auto take = [&](const std::array<std::int32_t, n>& e) {
    std::array<std::int32_t, n> s{};
    for (std::size_t k = 0; k < n; ++k) s[k] = slot_of(body, e[k]);
    of.slots.push_back(s);
  };
  for (std::size_t i = begin; i < end; ++i) {
    const std::int32_t own = slots_[i].vertex;
    const Index v = own;
    for (std::int32_t k = of.first[v]; k < of.first[v + 1]; ++k) {
      const auto& e = of.fine[of.around[k]];
      // At the first of its vertices near the body.
      const bool met = std::ranges::any_of(e, [&](std::int32_t other) {
        const Index o = other;
        return other < own && stamp_[o] == static_cast<std::int32_t>(body) && static_cast<std::size_t>(slot_of_[o]) < end;
      });
      if (!met) take(e);
    }
  }
  for (Index i = near.first[body]; i < near.first[body + 1]; ++i) take(of.coarse[near.elements[i]]);
  of.slot_first.push_back(static_cast<Index>(of.slots.size()));
}

void ConvexContacts::number_slots() {
  slots_.clear();
  slot_first_.assign(1, 0);
  edges_.slots.clear();
  edges_.slot_first.assign(1, 0);
  triangles_.slots.clear();
  triangles_.slot_first.assign(1, 0);
  std::ranges::fill(stamp_, -1);
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    const std::size_t begin = slots_.size();
    for (Index i = near_vertices_.first[b]; i < near_vertices_.first[b + 1]; ++i)
      slot_of(b, surfaces_.vertices[near_vertices_.elements[i]]);
    const std::size_t end = slots_.size();
    number_elements(b, near_edges_, edges_, begin, end);
    number_elements(b, near_triangles_, triangles_, begin, end);
    slot_first_.push_back(static_cast<Index>(slots_.size()));
  }
}

void ConvexContacts::colour(std::span<const Node> start) {
  colouring_.colour(std::ssize(bodies), std::ssize(start), [&](Index b, auto&& visit) {
    for (Index i = slot_first_[b]; i < slot_first_[b + 1]; ++i)
      if (const auto v = slots_[i].vertex; start[v].w > 0) visit(v);
  });
}

Index ConvexContacts::nbytes() const {
  const auto bytes = []<class U>(const std::vector<U>& v) { return static_cast<Index>(v.capacity() * sizeof(U)); };
  Index sum = bytes(surfaces_.vertices) + bytes(surfaces_.rest) + bytes(surfaces_.edges) + bytes(surfaces_.triangles) +
              bytes(surfaces_.thickness) + bytes(surfaces_.friction) + bytes(bodies) + bytes(motions) + bytes(local_) +
              bytes(ways_) + bytes(swept_) + bytes(cell_first_) + bytes(cell_bodies_) + bytes(slots_) + bytes(slot_first_) +
              edges_.nbytes() + triangles_.nbytes() + bytes(stamp_) + bytes(slot_of_) + bytes(order_) + colouring_.nbytes();
  for (const Near* n : {&near_vertices_, &near_edges_, &near_triangles_}) {
    sum += bytes(n->elements) + bytes(n->first);
    for (const auto& f : n->found) sum += bytes(f);
  }
  for (const auto& r : rows_) sum += bytes(r);
  return sum;
}

}  // namespace meniscus::solids
