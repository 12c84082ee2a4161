#include "meniscus/surface/meshing/boundary_contacts.hpp"

#include "meniscus/mesh/intersection/boundary_contact.hpp"

#include <algorithm>
#include <cmath>

namespace meniscus::surface {
namespace {

/// Cells with the same key share a list, which costs time but changes no result.
std::uint64_t key_of(std::int64_t x, std::int64_t y, std::int64_t k) {
  constexpr std::uint64_t mask = (std::uint64_t{1} << 21) - 1;
  return (static_cast<std::uint64_t>(x) & mask) | (static_cast<std::uint64_t>(y) & mask) << 21 |
         (static_cast<std::uint64_t>(k) & mask) << 42;
}

}  // namespace

BoundaryContacts::BoundaryContacts(const mesh::TetEditor& mesh, double cell) : mesh_(mesh), cells_per_metre_(1 / cell) {
  at_vertex_.resize(mesh.vertices());
  for (mesh::Triangle f : mesh.boundary()) {
    std::sort(f.begin(), f.end());
    Face face{f, {}, {}};
    set_box(face);
    add(face);
  }
}

void BoundaryContacts::set_box(Face& face) const {
  const mesh::Point& a = mesh_.position(face.corners[0]);
  const mesh::Point& b = mesh_.position(face.corners[1]);
  const mesh::Point& c = mesh_.position(face.corners[2]);
  face.low = a.cwiseMin(b).cwiseMin(c);
  face.high = a.cwiseMax(b).cwiseMax(c);
}

template <class Visit>
bool BoundaryContacts::each_cell(const Face& face, Visit&& visit) const {
  Cell low, high;
  for (std::size_t d = 0; d < 3; ++d) {
    low[d] = static_cast<std::int64_t>(std::floor(face.low[static_cast<Index>(d)] * cells_per_metre_));
    high[d] = static_cast<std::int64_t>(std::floor(face.high[static_cast<Index>(d)] * cells_per_metre_));
  }
  for (std::int64_t k = low[2]; k <= high[2]; ++k)
    for (std::int64_t y = low[1]; y <= high[1]; ++y)
      for (std::int64_t x = low[0]; x <= high[0]; ++x)
        if (!visit(key_of(x, y, k))) return false;
  return true;
}

bool BoundaryContacts::touches(const Face& face, const Face& other) const {
  if ((face.low.array() > other.high.array()).any() || (other.low.array() > face.high.array()).any()) return false;
  std::array<mesh::Point, 6> x;
  mesh::Triangle s{0, 1, 2}, t{};
  for (std::size_t k = 0; k < 3; ++k) x[k] = mesh_.position(face.corners[k]);
  for (std::size_t k = 0; k < 3; ++k) {
    x[3 + k] = mesh_.position(other.corners[k]);
    const auto same = std::find(face.corners.begin(), face.corners.end(), other.corners[k]);
    t[k] = same != face.corners.end() ? static_cast<std::int32_t>(same - face.corners.begin()) : static_cast<std::int32_t>(3 + k);
  }
  return mesh::meet_beyond_shared(x, s, t);
}

bool BoundaryContacts::touches_noted(const Face& face) const {
  return !each_cell(face, [&](std::uint64_t key) {
    const auto cell = cells_.find(key);
    if (cell == cells_.end()) return true;
    return std::none_of(cell->second.begin(), cell->second.end(),
                        [&](std::int32_t i) { return going_[i] == 0 && touches(face, faces_[i]); });
  });
}

std::int32_t BoundaryContacts::find(const mesh::Triangle& corners) const {
  if (corners[0] >= static_cast<Index>(at_vertex_.size())) return -1;
  for (const std::int32_t i : at_vertex_[corners[0]])
    if (faces_[i].corners == corners) return i;
  return -1;
}

void BoundaryContacts::add(const Face& face) {
  std::int32_t i;
  if (unused_.empty()) {
    i = static_cast<std::int32_t>(faces_.size());
    faces_.push_back(face);
    going_.push_back(0);
  } else {
    i = unused_.back();
    unused_.pop_back();
    faces_[i] = face;
  }
  for (const std::int32_t v : face.corners) at_vertex_[v].push_back(i);
  each_cell(face, [&](std::uint64_t key) {
    cells_[key].push_back(i);
    return true;
  });
}

void BoundaryContacts::remove(std::int32_t i) {
  const auto drop = [&](std::vector<std::int32_t>& list) {
    *std::find(list.begin(), list.end(), i) = list.back();
    list.pop_back();
  };
  const Face& face = faces_[i];
  for (const std::int32_t v : face.corners) drop(at_vertex_[v]);
  each_cell(face, [&](std::uint64_t key) {
    drop(cells_[key]);
    return true;
  });
  unused_.push_back(i);
}

bool BoundaryContacts::accept(std::size_t mark) {
  mesh_.changed_boundary(mark, toggled_, moved_);
  old_.clear();
  fresh_.clear();
  for (const mesh::Triangle& f : toggled_) {
    const std::int32_t i = find(f);
    if (i >= 0)
      old_.push_back(i);
    else
      fresh_.push_back({f, {}, {}});
  }
  for (const std::int32_t i : old_) going_[i] = 1;
  for (const std::int32_t v : moved_) {
    if (v >= static_cast<Index>(at_vertex_.size())) continue;
    for (const std::int32_t i : at_vertex_[v]) {
      if (going_[i] != 0) continue;
      going_[i] = 1;
      old_.push_back(i);
      fresh_.push_back(faces_[i]);
    }
  }
  bool free = true;
  for (std::size_t i = 0; i < fresh_.size() && free; ++i) {
    set_box(fresh_[i]);
    free = !touches_noted(fresh_[i]);
    for (std::size_t k = 0; k < i && free; ++k) free = !touches(fresh_[i], fresh_[k]);
  }
  for (const std::int32_t i : old_) going_[i] = 0;
  if (!free) return false;
  at_vertex_.resize(std::max(at_vertex_.size(), static_cast<std::size_t>(mesh_.vertices())));
  for (const std::int32_t i : old_) remove(i);
  for (const Face& face : fresh_) add(face);
  return true;
}

}  // namespace meniscus::surface
