#include "meniscus/numerics/multipole/multipole_passes.hpp"

#include "meniscus/core/parallel.hpp"

#include <algorithm>

namespace meniscus::numerics {
namespace {
constexpr Index boxes_per_task = 128;  // of translations; many boxes of a task share a direction
constexpr Index leaves_per_task = 8;

const DerivativeTables& all_derivatives() {
  static const DerivativeTables tables = derivative_tables(largest_order);
  return tables;
}

/// A translation from one box to another.
struct BoxPair {
  std::int32_t to, from;
  std::int16_t direction;
};
}  // namespace

Index few_points(int order) { return terms(order) / 3; }

MultipolePasses::MultipolePasses(const Octree& tree, int order, Index few, const PairKernel& kernel,
                                 std::span<const double* const> strengths, std::span<double* const> values, double* multipoles,
                                 double* locals)
    : tree_(tree),
      order_(order),
      terms_(terms(order)),
      densities_(densities(kernel)),
      kernel_(kernel),
      strengths_(strengths),
      values_(values),
      multipoles_(multipoles),
      locals_(locals),
      translations_(Translations::of_order(order)),
      derivatives_(all_derivatives()),
      few_(few) {}

PointRange MultipolePasses::sources_of(const Octree::Box& box) const {
  const OrderedPoints& p = tree_.sources();
  return {p.x.data(), p.y.data(), p.z.data(), box.sources_begin, box.sources_end};
}

PointRange MultipolePasses::targets_of(const Octree::Box& box) const {
  const OrderedPoints& p = tree_.targets();
  return {p.x.data(), p.y.data(), p.z.data(), box.targets_begin, box.targets_end};
}

void MultipolePasses::run() {
  const Index size = static_cast<Index>(tree_.boxes().size()) * densities_ * terms_;
  parallel_for(0, size, Index{1} << 16, [&](Index begin, Index end) {
    std::fill(multipoles_ + begin, multipoles_ + end, 0.0);
    std::fill(locals_ + begin, locals_ + end, 0.0);
  });
  expand_leaves();
  constexpr int first = 2;  // the coarsest level with boxes that are not neighbours
  for (int level = tree_.levels() - 2; level >= first; --level) add_children(level);
  for (int level = first; level < tree_.levels(); ++level) {
    if (level > first) take_from_parents(level);
    take_from_far(level);
  }
  evaluate_leaves();
}

void MultipolePasses::expand_leaves() {
  parallel_for(0, static_cast<Index>(tree_.boxes().size()), leaves_per_task, [&](Index begin, Index end) {
    for (Index b = begin; b < end; ++b)
      if (const Octree::Box& box = tree_.box(b); box.leaf() && box.sources() > 0)
        add_expansion(Harmonics::regular, box, tree_.centre(box), tree_.side(box.level), multipole(b, 0));
  });
}

void MultipolePasses::add_expansion(Harmonics kind, const Octree::Box& leaf, const Vec<double, 3>& centre, double side,
                                    double* first) const {
  std::array<double*, 4> channels{};
  if (kernel_.sum != PairSum::dipoles) {
    for (int d = 0; d < densities_; ++d) channels[d] = first + d * terms_;
    add_terms(kind, order_, sources_of(leaf), centre, side, strengths_, std::span(channels).first(strengths_.size()));
    return;
  }
  // Dipoles are derivatives of charges: the moments of their components, and then the derivatives of these.
  const int order = kind == Harmonics::regular ? order_ : order_ + 1;
  thread_local std::vector<double> moments;
  moments.assign(4 * terms(order), 0.0);
  for (int c = 0; c < 4; ++c) channels[c] = moments.data() + c * terms(order);
  add_terms(kind, order, sources_of(leaf), centre, side, strengths_, channels);
  for (int i = 0; i < terms_; ++i) first[i] += channels[0][i];
  const auto& tables = kind == Harmonics::regular ? derivatives_.regular : derivatives_.irregular;
  for (int axis = 0; axis < 3; ++axis)
    for (const DerivativeEntry& e : tables[axis]) {
      if (e.of >= terms_) break;
      first[e.of] += e.factor / side * channels[axis + 1][e.in];
    }
}

void MultipolePasses::add_children(int level) {
  parallel_for(tree_.level_begin(level), tree_.level_begin(level + 1), boxes_per_task, [&](Index begin, Index end) {
    for (int octant = 0; octant < 8; ++octant)
      for (int d = 0; d < densities_; ++d) {
        ExpansionLanes lanes;
        const auto translate = [&](const ExpansionLanes& full) { translations_.multipole_to_parent(octant, full); };
        for (Index b = begin; b < end; ++b) {
          const Octree::Box& box = tree_.box(b);
          for (Index c = box.first_child; c < box.first_child + box.children; ++c) {
            const Octree::Box& child = tree_.box(c);
            if (child.octant() != octant || child.sources() == 0) continue;
            lanes.add(multipole(c, d), multipole(b, d), translate);
          }
        }
        lanes.flush(translate);
      }
  });
}

void MultipolePasses::take_from_parents(int level) {
  parallel_for(tree_.level_begin(level), tree_.level_begin(level + 1), boxes_per_task, [&](Index begin, Index end) {
    for (int octant = 0; octant < 8; ++octant)
      for (int d = 0; d < densities_; ++d) {
        ExpansionLanes lanes;
        const auto translate = [&](const ExpansionLanes& full) { translations_.local_to_child(octant, full); };
        for (Index b = begin; b < end; ++b) {
          const Octree::Box& box = tree_.box(b);
          if (box.octant() != octant || box.targets() == 0) continue;
          lanes.add(local(box.parent, d), local(b, d), translate);
        }
        lanes.flush(translate);
      }
  });
}

/// From boxes whose parents are near to the parent, by directions: eight pairs with the same one share each step of a
/// translation.
void MultipolePasses::take_from_far(int level) {
  parallel_for(tree_.level_begin(level), tree_.level_begin(level + 1), boxes_per_task, [&](Index begin, Index end) {
    thread_local std::vector<BoxPair> pairs, sorted;
    pairs.clear();
    std::array<std::int32_t, Translations::directions + 1> first{};
    for (Index b = begin; b < end; ++b) {
      const Octree::Box& box = tree_.box(b);
      if (box.targets() == 0) continue;
      for (const std::int32_t entry : tree_.near(box.parent)) {
        if (entry < 0) continue;
        const Octree::Box& other = tree_.box(entry);
        for (std::int32_t c = other.first_child; c < other.first_child + other.children; ++c) {
          const Octree::Box& from = tree_.box(c);
          if (from.sources() == 0 || Octree::adjacent(from, box)) continue;
          const int direction =
              Translations::direction(box.cell[0] - from.cell[0], box.cell[1] - from.cell[1], box.cell[2] - from.cell[2]);
          pairs.push_back({static_cast<std::int32_t>(b), c, static_cast<std::int16_t>(direction)});
          ++first[direction + 1];
        }
      }
      take_from_larger_leaves(b);
    }
    for (int i = 0; i < Translations::directions; ++i) first[i + 1] += first[i];
    sorted.resize(pairs.size());
    auto place = first;
    for (const BoxPair& p : pairs) sorted[place[p.direction]++] = p;
    for (int direction = 0; direction < Translations::directions; ++direction)
      for (std::int32_t i = first[direction]; i < first[direction + 1]; i += octet_size)
        for (int d = 0; d < densities_; ++d) {
          ExpansionLanes lanes;
          lanes.count = std::min(octet_size, first[direction + 1] - i);
          for (int lane = 0; lane < octet_size; ++lane) {
            const BoxPair& p = sorted[i + (lane < lanes.count ? lane : 0)];
            lanes.from[lane] = multipole(p.from, d);
            lanes.to[lane] = local(p.to, d);
          }
          translations_.multipole_to_local(direction, lanes);
        }
  });
}

void MultipolePasses::take_from_larger_leaves(Index b) {
  const Octree::Box& box = tree_.box(b);
  if (box.targets() <= few_) return;
  for (const std::int32_t entry : tree_.near(box.parent)) {
    if (entry < 0) continue;
    const Octree::Box& other = tree_.box(entry);
    if (other.leaf() && !Octree::adjacent(other, box))
      add_expansion(Harmonics::irregular, other, tree_.centre(box), tree_.side(box.level), local(b, 0));
  }
}

/// What is near a leaf: ranges of sources to be taken point by point, and boxes whose multipoles are to be evaluated.
void MultipolePasses::near_sources(Index b, std::vector<SourceRange>& ranges, std::vector<std::int32_t>& expansions) const {
  const Octree::Box& leaf = tree_.box(b);
  ranges.clear();
  expansions.clear();
  thread_local std::vector<std::int32_t> stack;
  const auto take = [&](const Octree::Box& box) {
    if (box.sources() > 0) ranges.push_back({box.sources_begin, box.sources_end});
  };
  for (const std::int32_t entry : tree_.near(b)) {
    if (entry < 0) {
      take(tree_.box(~entry));
      continue;
    }
    stack.assign(1, entry);
    while (!stack.empty()) {
      const std::int32_t i = stack.back();
      stack.pop_back();
      const Octree::Box& box = tree_.box(i);
      if (!Octree::adjacent(box, leaf)) {
        if (box.sources() <= few_)
          take(box);
        else
          expansions.push_back(i);
      } else if (box.leaf()) {
        take(box);
      } else {
        for (std::int32_t c = box.first_child; c < box.first_child + box.children; ++c) stack.push_back(c);
      }
    }
  }
  // Neighbours along the curve become one range.
  std::sort(ranges.begin(), ranges.end());
  std::size_t last = 0;
  for (std::size_t i = 1; i < ranges.size(); ++i) {
    if (ranges[i][0] == ranges[last][1])
      ranges[last][1] = ranges[i][1];
    else
      ranges[++last] = ranges[i];
  }
  if (!ranges.empty()) ranges.resize(last + 1);
}

void MultipolePasses::add_at_targets(Harmonics kind, const double* first, const Vec<double, 3>& centre, double side,
                                     const Octree::Box& box) const {
  const int order = kind == Harmonics::regular ? order_ : order_ + 1, size = terms(order);
  const auto& tables = kind == Harmonics::regular ? derivatives_.regular : derivatives_.irregular;
  const double scale = 1.0 / side, slope_scale = scale * scale;
  thread_local std::vector<double> terms_of_values;
  std::array<const double*, 4> channels{};
  const auto clear = [&](int count) {
    terms_of_values.assign(count * size, 0.0);
    for (int c = 0; c < count; ++c) channels[c] = terms_of_values.data() + c * size;
  };
  const auto add_derivative = [&](int channel, int axis, int density, double factor) {
    double* const to = terms_of_values.data() + channel * size;
    const double* const from = first + density * terms_;
    for (const DerivativeEntry& e : tables[axis]) {
      if (e.of >= terms_) break;
      to[e.in] += factor * e.factor * from[e.of];
    }
  };
  if (kernel_.sum == PairSum::vortices) {
    clear(3);
    for (int axis = 0; axis < 3; ++axis) {
      add_derivative(axis, (axis + 1) % 3, (axis + 2) % 3, slope_scale);
      add_derivative(axis, (axis + 2) % 3, (axis + 1) % 3, -slope_scale);
    }
    add_values(kind, order, targets_of(box), centre, side, std::span(channels).first(3), values_);
    return;
  }
  for (int d = 0; d < densities_; ++d) {
    clear(4);
    for (int i = 0; i < terms_; ++i) terms_of_values[i] = scale * first[d * terms_ + i];
    for (int axis = 0; axis < 3; ++axis) add_derivative(axis + 1, axis, d, slope_scale);
    add_values(kind, order, targets_of(box), centre, side, channels, values_.subspan(4 * d, 4));
  }
}

void MultipolePasses::evaluate_leaves() {
  const PointRange all{tree_.sources().x.data(), tree_.sources().y.data(), tree_.sources().z.data(), 0, tree_.sources().size()};
  parallel_for(0, static_cast<Index>(tree_.boxes().size()), leaves_per_task, [&](Index begin, Index end) {
    thread_local std::vector<SourceRange> ranges;
    thread_local std::vector<std::int32_t> expansions;
    for (Index b = begin; b < end; ++b) {
      const Octree::Box& box = tree_.box(b);
      if (!box.leaf() || box.targets() == 0) continue;
      near_sources(b, ranges, expansions);
      if (box.level >= 2) add_at_targets(Harmonics::regular, local(b, 0), tree_.centre(box), tree_.side(box.level), box);
      for (const std::int32_t far : expansions) {
        const Octree::Box& other = tree_.box(far);
        add_at_targets(Harmonics::irregular, multipole(far, 0), tree_.centre(other), tree_.side(other.level), box);
      }
      add_pairs(kernel_, targets_of(box), all, strengths_, ranges, values_);
    }
  });
}

}  // namespace meniscus::numerics
