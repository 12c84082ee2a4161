#include "meniscus/grid/nodes/node_advection.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/grid/nodes/node_samples.hpp"
#include "meniscus/grid/nodes/nodes_past_walls.hpp"
#include "meniscus/grid/transport/advection_checks.hpp"
#include "meniscus/grid/transport/advection_scheme.hpp"
#include "meniscus/numerics/error_compensation.hpp"

#include <limits>
#include <optional>

namespace meniscus::grid {
namespace {

/// Passes of all components of the nodes along one path.
template <class T, int D>
class NodePasses {
 public:
  /// Of a run of nodes: the results of all components.
  using Results = std::array<LaneSamples<T>, D>;

  NodePasses(const VelocitySource<T, D>& velocity, const PassOptions& options, double reach, const WallGuard<T, D>* guard,
             HiddenNodes hidden)
      : velocity_(velocity),
        options_(options),
        far_width_(far_width(reach, stencil_margin(options.interpolation))),
        far_reach_(far_reach(reach, stencil_margin(options.interpolation))),
        guard_(guard),
        hidden_(hidden) {}

  /// Interpolates nodes where the path through dt seconds, of either sign, comes from, and calls consume(run, results). Fills the
  /// ghosts of the nodes. Not `guarded_needed`: nodes near walls get marks alone.
  template <class Consume>
  void run(NodeVelocity<T, D>& nodes, double time, double dt, bool guarded_needed, Consume&& consume) {
    nodes.fill_ghosts(time);
    for (int d = 0; d < D; ++d) {
      FarValues<D>& far = far_[d];
      far.prepare(nodes.layout(d), far_width_, time);
      far.fetch(nodes.layout(d), static_cast<const T*>(nodes.storage(d)), far_reach_);
    }
    const NodeSources<T, D> sources = sources_of(nodes, time, std::make_index_sequence<static_cast<std::size_t>(D)>());
    const T dt_over_h = static_cast<T>(dt / nodes.layout(0).grid.spacing());
    for_each_run<D>(nodes.layout(0).extents(), [&](const RowRun<D>& run) {
      LaneVectors<T, D> displacement;
      Results results;
      trace_back(velocity_, Stagger<D>::node(), run, dt_over_h, options_.trace, displacement);
      for (std::size_t d = 0; d < D; ++d)
        sample_run(sources[d], run, displacement, options_.interpolation, static_cast<const MaskedVisibility<T, D>*>(nullptr),
                   results[d]);
      simd_dispatch([&] { keep_still(sources, run, displacement, results); });
      if (guard_) past_walls(sources, run, displacement, dt_over_h, dt, guarded_needed, results);
      simd_dispatch([&] { consume(run, results); });
    });
  }

 private:
  template <std::size_t... C>
  NodeSources<T, D> sources_of(const NodeVelocity<T, D>& nodes, double time, std::index_sequence<C...>) const {
    const auto constant = [](const FieldView<T, D>& v) { return FieldView<const T, D>{v.origin, v.extents, v.strides}; };
    return {SampleSource<T, D>{&nodes.layout(C), constant(nodes.view(C)), time, &far_[C]}...};
  }

  /// Nodes that move less than rounding keep their values to the bit: in an interpolation just below a sample it would not be
  /// met.
  static MENISCUS_INLINE void keep_still(const NodeSources<T, D>& sources, const RowRun<D>& run,
                                         const LaneVectors<T, D>& displacement, Results& results) {
    constexpr T still = T(0.5) * std::numeric_limits<T>::epsilon();
    for (int d = 0; d < D; ++d) {
      const SampleSource<T, D>& source = sources[d];
      const T* const own = source.view.at(run.base);
      Lanes<T>& value = results[d].value;
      for (int l = 0; l < run.count; ++l) {
        bool moves = false;
        for (int e = 0; e < D; ++e) moves |= std::abs(displacement[e][l]) > still;
        value[l] = moves ? value[l] : own[l];
      }
    }
  }

  void past_walls(const NodeSources<T, D>& sources, const RowRun<D>& run, const LaneVectors<T, D>& displacement, T dt_over_h,
                  double dt, bool needed, Results& results) const {
    Lanes<std::uint8_t> lanes;
    guard_->find(velocity_, Stagger<D>::node(), sources[0].view.strides, run, displacement, dt_over_h, options_.trace, needed,
                 lanes);
    Coord<D> at = run.base;
    for (int l = 0; l < run.count; ++l, ++at[D - 1]) {
      if (!lanes[l]) continue;
      const auto found = advect_node_past_walls<T, D>(sources, *guard_->walls, at, dt, options_.trace, hidden_);
      for (std::size_t d = 0; d < D; ++d) {
        results[d].value[l] = found[d].value;
        results[d].low[l] = found[d].low;
        results[d].high[l] = found[d].high;
      }
    }
  }

  const VelocitySource<T, D>& velocity_;
  const PassOptions& options_;
  Index far_width_, far_reach_;
  const WallGuard<T, D>* guard_;
  HiddenNodes hidden_;
  std::array<FarValues<D>, D> far_;
};

/// Masks of nodes for one component, from those of its faces.
template <class T, int D>
class NodeMasks {
 public:
  NodeMasks(const FieldLayout<D>& nodes, int axis, const AdvectMasks& faces, const AdvectOptions& options, double cfl,
            Workspace& workspace)
      : marks_(faces.first_order ? workspace.take<std::uint8_t>(product<D>(nodes.extents())) : Workspace::Lease<std::uint8_t>()),
        masks_(nodes, of_nodes(nodes.grid, axis, faces, workspace), options, cfl, workspace) {}

  const TransportMasks<T, D>& operator*() const { return masks_; }

 private:
  AdvectMasks of_nodes(const Grid<D>& grid, int axis, const AdvectMasks& faces, Workspace& workspace) {
    if (!faces.first_order) return {};
    nodes_beside<D>(grid, axis, faces.first_order, marks_.data(), workspace);
    return {nullptr, nullptr, marks_.data()};
  }

  Workspace::Lease<std::uint8_t> marks_;
  TransportMasks<T, D> masks_;
};

/// The nodes of one step: before it, after a first pass, and the extremes that the pass has used. Turns those before into what
/// they gain.
template <class T, int D>
class NodeStep {
 public:
  NodeStep(MacField<T, D>& velocity, const AdvectOptions& options, Workspace& workspace)
      : options_(options), workspace_(workspace), before_(velocity, workspace), after_(velocity, workspace) {}

  NodeVelocity<T, D>& before() { return before_; }
  /// Scratch memory after the step, of at least the size of the faces.
  NodeVelocity<T, D>& after() { return after_; }

  void first_order(NodePasses<T, D>& passes, double dt) {
    passes.run(before_, options_.time, dt, true,
               [&](const RowRun<D>& run, const Results& r) { keep(after_, run, r, &LaneSamples<T>::value); });
    for (int d = 0; d < D; ++d) {
      const FieldView<T, D> u = before_.view(d), v = after_.view(d);
      for_each_run<D>(u.extents, [&](const RowRun<D>& run) {
        T* const from = u.at(run.base);
        const T* const to = v.at(run.base);
        for (int l = 0; l < run.count; ++l) from[l] = to[l] - from[l];
      });
    }
  }

  void maccormack(NodePasses<T, D>& passes, MacField<T, D>& velocity, double dt, double cfl,
                  const std::array<AdvectMasks, D>& masks, const std::uint8_t* guarded) {
    const bool limits = options_.limiter != Limiter::none;
    std::optional<NodeVelocity<T, D>> low, high;
    if (limits) {
      low.emplace(velocity, workspace_);
      high.emplace(velocity, workspace_);
    }
    passes.run(before_, options_.time, dt, true, [&](const RowRun<D>& run, const Results& r) {
      keep(after_, run, r, &LaneSamples<T>::value);
      if (!limits) return;
      keep(*low, run, r, &LaneSamples<T>::low);
      keep(*high, run, r, &LaneSamples<T>::high);
    });
    check_interrupt();
    std::array<std::optional<NodeMasks<T, D>>, D> first_order;
    for (int d = 0; d < D; ++d) {
      const Index i = d;
      first_order[i].emplace(before_.layout(d), d, masks[i], options_, cfl, workspace_);
    }
    passes.run(after_, options_.time + dt, -dt, false, [&](const RowRun<D>& run, const Results& r) {
      for (int d = 0; d < D; ++d) {
        const Index i = d;
        const Index q = dot<D>(run.base, before_.view(d).strides);
        T* const start = before_.view(d).origin + q;
        const T* const advanced = after_.view(d).origin + q;
        Lanes<T> value;
        for (int l = 0; l < run.count; ++l) value[l] = numerics::maccormack_correct(advanced[l], start[l], r[i].value[l]);
        if (limits) {
          const T* const least = low->view(d).origin + q;
          const T* const most = high->view(d).origin + q;
          for (int l = 0; l < run.count; ++l) value[l] = limited(options_.limiter, value[l], advanced[l], least[l], most[l]);
        }
        Lanes<std::uint8_t> plain;
        (**first_order[i]).first_order_lanes(run, q, plain);
        if (guarded)
          for (int l = 0; l < run.count; ++l) plain[l] = static_cast<std::uint8_t>(plain[l] | guarded[q + l]);
        for (int l = 0; l < run.count; ++l) start[l] = (plain[l] ? advanced[l] : value[l]) - start[l];
      }
    });
  }

 private:
  using Results = typename NodePasses<T, D>::Results;

  static void keep(const NodeVelocity<T, D>& nodes, const RowRun<D>& run, const Results& results,
                   Lanes<T> LaneSamples<T>::* part) {
    for (int d = 0; d < D; ++d) std::copy_n((results[d].*part).begin(), run.count, nodes.view(d).at(run.base));
  }

  const AdvectOptions& options_;
  Workspace& workspace_;
  NodeVelocity<T, D> before_, after_;
};

}  // namespace

template <class T, int D>
AdvectInfo advect_at_nodes(MacField<T, D>& velocity, double dt, const AdvectOptions& options,
                           const std::array<AdvectMasks, D>& masks, Workspace& workspace, const ThinWalls<D>* walls,
                           HiddenNodes hidden) {
  const bool corrected = options.scheme == &schemes::maccormack;
  require(corrected || options.scheme == &schemes::semi_lagrangian,
          "nodes take the schemes 'semi-lagrangian' and 'maccormack', not '", options.scheme->name, "'");
  require(!corrected || options.pass.block == TransportBlock::semi_lagrangian, "nodes need a semi-Lagrangian transport");
  require(!walls || walls->grid() == velocity.grid(), "the walls must have the grid of the velocity");
  for (const AdvectMasks& m : masks) require(!m.visible, "nodes see all faces that no wall hides");
  const AdvectionReach reach = checked_reach(velocity.grid(), velocity, dt, options.time);
  const auto far = far_values(velocity, velocity_reach(options.pass, reach.traced), options.time);
  const VelocitySource<T, D> source(velocity, options.time, far.data());
  NodeStep<T, D> step(velocity, options, workspace);
  average_to_nodes<T, D>(source, walls, step.before());

  Workspace::Lease<std::uint8_t> marks;
  std::optional<WallGuard<T, D>> guard;
  const std::uint8_t* guarded = nullptr;
  if (walls) {
    const FieldLayout<D>& layout = step.before().layout(0);
    marks = workspace.take<std::uint8_t>(layout.storage_size());
    std::fill_n(marks.data(), marks.size(), std::uint8_t{0});
    const FieldView<std::uint8_t, D> view = layout.view(marks.data());
    guarded = view.origin;
    guard.emplace(WallGuard<T, D>{walls, {}, reach.traced, stencil_margin(options.pass.interpolation), view.origin});
  }
  NodePasses<T, D> passes(source, options.pass, reach.traced, guard ? &*guard : nullptr, hidden);
  if (corrected) {
    step.maccormack(passes, velocity, dt, reach.cfl, masks, guarded);
  } else {
    step.first_order(passes, dt);
  }
  for (int d = 0; d < D; ++d) {
    T* const result = step.after().storage(d);
    add_increments<T, D>(velocity, d, step.before(), masks[d].active, walls, result);
    velocity.set_given_faces(d, result, options.time + dt);
  }
  check_interrupt();
  const NoInterrupts commit;
  for (int d = 0; d < D; ++d) {
    Field<T, D>& faces = velocity.component(d);
    copy_owned<T, D>(faces.layout(), step.after().storage(d), faces.storage().data());
  }
  AdvectInfo info;
  info.cfl = reach.cfl;
  return info;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                            \
  template AdvectInfo advect_at_nodes<T, D>(MacField<T, D>&, double, const AdvectOptions&, const std::array<AdvectMasks, D>&, \
                                            Workspace&, const ThinWalls<D>*, HiddenNodes);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::grid
