#include "meniscus/collision/broad_phase/element_grid.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/floating_point.hpp"
#include "meniscus/core/parallel.hpp"
#include "meniscus/core/radix_sort.hpp"

#include <cmath>

namespace meniscus::collision {
namespace {

constexpr Index element_chunk = 4096;
/// Elements that cover more cells are kept in a list.
constexpr double max_covered = 512;
constexpr double cells_per_element = 2;  // of the grid, on average

}  // namespace

template <class F>
void ElementGrid::for_each_cell(const mesh::Box& box, F&& f) const {
  const Coord<3> first = cell_of(box.low);
  const Coord<3> last = cell_of(box.high);
  Coord<3> c;
  for (c[0] = first[0]; c[0] <= last[0]; ++c[0])
    for (c[1] = first[1]; c[1] <= last[1]; ++c[1])
      for (c[2] = first[2]; c[2] <= last[2]; ++c[2]) f(number_of(c));
}

ElementGrid::ElementGrid(const mesh::Box& region, double cell_size, Index max_cells) {
  require(cell_size > 0, "the cells of a grid must have a size above zero, not ", cell_size);
  lay_out(region, cell_size, max_cells);
  begin_.assign(static_cast<std::size_t>(product<3>(cells_)) + 1, 0);
  count_.assign(begin_.size() - 1, 0);
  late_head_.assign(count_.size(), -1);
}

void ElementGrid::lay_out(const mesh::Box& region, double cell_size, Index max_cells) {
  region_ = region;
  const double most = static_cast<double>(std::max<Index>(max_cells, 1));
  // No difference of two finite numbers is larger than this times two.
  constexpr double largest = std::numeric_limits<double>::max();
  const mesh::Point half = (0.5 * region.high - 0.5 * region.low).cwiseMax(0.0);
  size_ = std::clamp(cell_size, std::numeric_limits<double>::min(), largest);
  for (;;) {
    double n = 1;
    for (int d = 0; d < 3; ++d) {
      const double along = std::min(std::floor(half[d] / (0.5 * size_)) + 1, 1e9);
      cells_[d] = static_cast<Index>(along);
      n *= along;
    }
    if (n <= most || size_ == largest) break;
    size_ = std::min(size_ * std::max(1.02, std::cbrt(n / most)), largest);
  }
  if (product<3>(cells_) > std::max<Index>(max_cells, 8)) cells_ = {1, 1, 1};
}

void ElementGrid::build(std::span<const mesh::Box> boxes, Workspace& workspace) {
  const auto n = static_cast<Index>(boxes.size());
  boxes_.assign(boxes.begin(), boxes.end());
  present_.assign(boxes.size(), 1);
  first_cell_.resize(boxes.size());
  large_.clear();
  late_.clear();
  free_late_ = -1;
  struct Extents {
    mesh::Box all;
    double mean_size = 0;
  };
  const Extents extents = parallel_reduce(
      0, n, element_chunk, Extents{},
      [&](Index b, Index e) {
        Extents x;
        for (Index i = b; i < e; ++i) {
          const mesh::Box& box = boxes[i];
          x.all.add(box);
          // Divided first, so that no sum overflows.
          x.mean_size += (box.high / static_cast<double>(n) - box.low / static_cast<double>(n)).maxCoeff();
        }
        return x;
      },
      [](Extents x, const Extents& y) {
        x.all.add(y.all);
        x.mean_size += y.mean_size;
        return x;
      });
  const double most = cells_per_element * static_cast<double>(n) + 64;
  // Elements at rest that are points have no size.
  const double whole = (0.5 * extents.all.high - 0.5 * extents.all.low).maxCoeff();
  lay_out(n > 0 ? extents.all : mesh::Box{mesh::Point::Zero(), mesh::Point::Zero()},
          std::max(extents.mean_size, 2 * (whole / most)), static_cast<Index>(most));
  const auto cells = static_cast<std::size_t>(product<3>(cells_));
  auto offset = workspace.take<Index>(n + 1);
  parallel_for(0, n, element_chunk, [&](Index b, Index e) {
    const StandardArithmetic arithmetic;
    for (Index i = b; i < e; ++i) {
      note_first_cell(static_cast<std::int32_t>(i));
      const double c = covered(boxes[i]);
      offset.data()[i] = c > max_covered ? 0 : static_cast<Index>(c);
    }
  });
  Index total = 0;
  for (Index i = 0; i < n; ++i) {
    if (offset.data()[i] == 0) large_.push_back(static_cast<std::int32_t>(i));
    total += std::exchange(offset.data()[i], total);
  }
  offset.data()[n] = total;
  auto keys = workspace.take<std::uint64_t>(total);
  auto elements = workspace.take<std::int32_t>(total);
  auto order = workspace.take<Index>(total);
  parallel_for(0, n, element_chunk, [&](Index b, Index e) {
    const StandardArithmetic arithmetic;
    for (Index i = b; i < e; ++i) {
      Index at = offset.data()[i];
      if (at == offset.data()[i + 1]) continue;
      for_each_cell(boxes[i], [&](std::size_t cell) {
        keys.data()[at] = cell;
        elements.data()[at++] = static_cast<std::int32_t>(i);
      });
    }
  });
  radix_sort(keys.data(), order.data(), total, cells, workspace);
  entries_.resize(total);
  begin_.assign(cells + 1, 0);
  parallel_for(0, total, element_chunk, [&](Index b, Index e) {
    for (Index i = b; i < e; ++i) entries_[i] = elements.data()[order.data()[i]];
  });
  for (Index i = 0; i < total; ++i) ++begin_[keys.data()[i] + 1];
  count_.resize(cells);
  for (std::size_t c = 0; c < cells; ++c) {
    count_[c] = static_cast<std::int32_t>(begin_[c + 1]);
    begin_[c + 1] += begin_[c];
  }
  late_head_.assign(cells, -1);
}

void ElementGrid::insert(std::int32_t element, const mesh::Box& box) {
  const StandardArithmetic arithmetic;
  require(element >= 0, "elements of a grid have numbers from 0, not ", element);
  require(!contains(element), "element ", element, " is in the grid already");
  require(!begin_.empty(), "a grid without a region cannot take elements");
  const auto e = static_cast<std::size_t>(element);
  if (present_.size() <= e) {
    present_.resize(e + 1, 0);
    boxes_.resize(e + 1);
    first_cell_.resize(e + 1);
  }
  present_[e] = 1;
  boxes_[e] = box;
  note_first_cell(element);
  if (covered(box) > max_covered) {
    large_.push_back(element);
    return;
  }
  for_each_cell(box, [&](std::size_t cell) {
    if (begin_[cell] + count_[cell] < begin_[cell + 1]) {
      entries_[begin_[cell] + count_[cell]++] = element;
      return;
    }
    std::int32_t place = free_late_;
    if (place >= 0) {
      free_late_ = late_[place].next;
    } else {
      require(late_.size() < 2147483647, "a grid can take at most 2147483647 late entries");
      place = static_cast<std::int32_t>(late_.size());
      late_.emplace_back();
    }
    late_[place] = {element, late_head_[cell]};
    late_head_[cell] = place;
  });
}

void ElementGrid::remove(std::int32_t element) {
  const StandardArithmetic arithmetic;
  require(element >= 0 && contains(element), "element ", element, " is not in the grid");
  const auto e = static_cast<std::size_t>(element);
  present_[e] = 0;
  if (covered(boxes_[e]) > max_covered) {
    std::erase(large_, element);
    return;
  }
  for_each_cell(boxes_[e], [&](std::size_t cell) {
    const auto first = entries_.begin() + begin_[cell];
    const auto end = first + count_[cell];
    if (const auto found = std::find(first, end, element); found != end) {
      *found = *(end - 1);
      --count_[cell];
      return;
    }
    std::int32_t* link = &late_head_[cell];
    while (late_[*link].element != element) link = &late_[*link].next;
    const std::int32_t place = *link;
    *link = late_[place].next;
    late_[place].next = free_late_;
    free_late_ = place;
  });
}

Index ElementGrid::nbytes() const {
  const auto bytes = [](const auto& v) { return static_cast<Index>(v.capacity() * sizeof(v[0])); };
  return bytes(boxes_) + bytes(present_) + bytes(first_cell_) + bytes(large_) + bytes(begin_) + bytes(count_) + bytes(entries_) +
         bytes(late_head_) + bytes(late_);
}

}  // namespace meniscus::collision
