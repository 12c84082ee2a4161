#include "meniscus/fluids/shallow/hulls/hull_pressure.hpp"

#include "meniscus/core/cancellation.hpp"

#include <Eigen/Dense>
#include <cmath>

namespace meniscus::fluids {
namespace {

constexpr double relaxation = 1.6;  // of sweeps; below 2

/// A column under a hull and the four columns around it.
struct Row {
  double excess = 0;      ///< height of the water over the hull without a change of pressure, m
  double diagonal = 0;    ///< how fast a head lowers it
  double change = 0;      ///< of the head, m
  double least = 0;       ///< change that leaves no pressure
  double depths[4] = {};  ///< of the faces around, m; zero where nothing passes
  int beside[4] = {-1, -1, -1, -1};
  Vec<double, 3> push, arm;
};

}  // namespace

template <class T>
HullSolve press_under_hulls(const ShallowModel<T>& model, ShallowFields<T>& water, T* before, HullCells& hulls,
                            std::span<HullBody> bodies, double dt, const HullTolerance& tolerance) {
  const ShallowLayout& at = model.layout;
  const double per_head = model.density * model.gravity, area = model.spacing * model.spacing;
  const double flow = dt * dt * model.gravity / area;
  const bool around_x = model.sides[0].kind == ShallowSideKind::joined, around_y = model.sides[2].kind == ShallowSideKind::joined;
  fill_shallow_ghosts(model, water.depth.data(), -1);
  std::vector<HullCell>& cells = hulls.cells();
  std::vector<Row> rows(cells.size());
  const double x0 = model.origin[0], y0 = model.origin[1];
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const HullCell& cell = cells[c];
    Row& row = rows[c];
    const HullBody& body = bodies[cell.body];
    const Index k = at.at(cell.i, cell.j);
    const Vec<double, 3> place(x0 + (static_cast<double>(cell.i) + 0.5) * model.spacing,
                               y0 + (static_cast<double>(cell.j) + 0.5) * model.spacing, cell.roof);
    row.push = {cell.push_x, cell.push_y, 1.0};
    row.arm = place - body.center;
    const double head = static_cast<double>(before[k]) / per_head;
    row.least = -head;
    const Vec<double, 3> moving = body.velocity + body.spin.cross(row.arm);
    row.excess =
        static_cast<double>(water.depth[k]) + static_cast<double>(model.ground[k]) - cell.roof - dt * row.push.dot(moving);
    const Index di[4] = {-1, 1, 0, 0}, dj[4] = {0, 0, -1, 1};
    for (int f = 0; f < 4; ++f) {
      Index i = cell.i + di[f], j = cell.j + dj[f];
      const bool outside = i < 0 || i >= at.nx || j < 0 || j >= at.ny;
      if (outside && !(f < 2 ? around_x : around_y)) continue;
      const Index face = f < 2 ? at.at(cell.i + (f == 1), cell.j) : at.at(cell.i, cell.j + (f == 3));
      if (model.wall_u.size() > 0 && (f < 2 ? model.wall_u : model.wall_v)[face]) continue;
      i = (i + at.nx) % at.nx;
      j = (j + at.ny) % at.ny;
      row.depths[f] = static_cast<double>(std::min(water.depth[k], water.depth[at.at(i, j)]));
      row.beside[f] = hulls.at(i, j);
      if (row.beside[f] < 0) row.depths[f] *= 2;  // the edge of the hull, where its pressure ends, is half a cell away
      row.diagonal += flow * row.depths[f];
    }
    const Vec<double, 3> turn = row.arm.cross(row.push);
    row.diagonal += dt * dt * per_head * area * (body.lightness * row.push.squaredNorm() + turn.dot(body.inverse_inertia * turn));
    row.diagonal = std::max(row.diagonal, 1e-300);
  }
  // The bodies have felt no pressure in this step yet: all of it acts now.
  const auto push = [&](const Row& row, HullBody& body, double head) {
    const double impulse = per_head * area * dt * head;
    body.velocity += body.lightness * impulse * row.push;
    body.spin += body.inverse_inertia * row.arm.cross(row.push) * impulse;
    body.impulse += impulse * row.push;
    body.angular_impulse += impulse * row.arm.cross(row.push);
  };
  for (std::size_t c = 0; c < cells.size(); ++c) {
    // The excess of each row is without any head of the bodies: `gained` is what they have gained of the water by now.
    push(rows[c], bodies[cells[c].body], -rows[c].least);
  }
  HullSolve solve;
  std::vector<Vec<double, 3>> start_v(bodies.size()), start_w(bodies.size());
  for (std::size_t b = 0; b < bodies.size(); ++b) {
    start_v[b] = bodies[b].velocity - bodies[b].lightness * bodies[b].impulse;
    start_w[b] = bodies[b].spin - bodies[b].inverse_inertia * bodies[b].angular_impulse;
  }
  const auto excess_of = [&](std::size_t c) {
    const Row& row = rows[c];
    const HullBody& body = bodies[cells[c].body];
    double moved = 0;
    for (int f = 0; f < 4; ++f)
      if (row.depths[f] > 0) moved += row.depths[f] * ((row.beside[f] < 0 ? 0.0 : rows[row.beside[f]].change) - row.change);
    const Vec<double, 3> gained = body.velocity - start_v[cells[c].body] + (body.spin - start_w[cells[c].body]).cross(row.arm);
    return row.excess + flow * moved - dt * row.push.dot(gained);
  };
  for (solve.iterations = 0; solve.iterations < tolerance.sweeps; ++solve.iterations) {
    double largest = 0;
    const bool back = solve.iterations % 2 == 1;
    for (std::size_t n = 0; n < cells.size(); ++n) {
      const std::size_t c = back ? cells.size() - 1 - n : n;
      Row& row = rows[c];
      const double excess = excess_of(c);
      const double next = std::max(row.change + relaxation * excess / row.diagonal, row.least);
      const double step = next - row.change;
      row.change = next;
      push(row, bodies[cells[c].body], step);
      largest = std::max(largest, std::abs(step) * row.diagonal);
    }
    if (largest < tolerance.excess * model.spacing) break;
    if (solve.iterations % 64 == 63) check_interrupt();
  }
  for (std::size_t c = 0; c < cells.size(); ++c)
    solve.excess = std::max(solve.excess, rows[c].change > rows[c].least ? std::abs(excess_of(c)) : excess_of(c));
  // Water through the faces, and its momentum, half to each side.
  const double per_spacing = dt * model.gravity / model.spacing;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    const HullCell& cell = cells[c];
    const Row& row = rows[c];
    const Index k = at.at(cell.i, cell.j);
    for (int f = 0; f < 4; ++f) {
      if (row.depths[f] <= 0) continue;
      const bool mine = row.beside[f] < 0;
      if (!mine && f % 2 == 0) continue;  // once for each face
      const double difference = row.change - (mine ? 0.0 : rows[row.beside[f]].change);
      const Index i = (cell.i + (f == 1) - (f == 0) + at.nx) % at.nx, j = (cell.j + (f == 3) - (f == 2) + at.ny) % at.ny;
      const Index o = at.at(i, j);
      const double discharge = per_spacing * row.depths[f] * difference;  // from here to there, m^2/s
      const auto passed = static_cast<T>(dt / model.spacing * discharge);
      const double sign = f % 2 == 0 ? -1.0 : 1.0;
      Block<T>& velocity = f < 2 ? water.u : water.v;
      const double here = static_cast<double>(water.depth[k]) * velocity[k] + 0.5 * sign * discharge;
      const double there = static_cast<double>(water.depth[o]) * velocity[o] + 0.5 * sign * discharge;
      Block<T>& other = f < 2 ? water.v : water.u;
      const double here_along = static_cast<double>(water.depth[k]) * other[k],
                   there_along = static_cast<double>(water.depth[o]) * other[o];
      water.depth[k] = std::max(water.depth[k] - passed, T(0));
      water.depth[o] = std::max(water.depth[o] + passed, T(0));
      const auto settle = [&](Index cell_of, double across, double along) {
        const auto depth = static_cast<double>(water.depth[cell_of]);
        velocity[cell_of] = depth > model.dry ? static_cast<T>(across / depth) : T(0);
        other[cell_of] = depth > model.dry ? static_cast<T>(along / depth) : T(0);
      };
      settle(k, here, here_along);
      settle(o, there, there_along);
      // What pushes the water pushes the body the other way; of a face between two columns, both pressures are on the bodies.
      const double impulse = -model.density * area * sign * discharge;
      bodies[cell.body].side[f / 2] += impulse;
    }
  }
  for (std::size_t c = 0; c < cells.size(); ++c) {
    cells[c].head = rows[c].change - rows[c].least;
    before[at.at(cells[c].i, cells[c].j)] = static_cast<T>(cells[c].head * per_head);
  }
  return solve;
}

template <class T>
void add_felt_impulses(const ShallowModel<T>& model, const T* before, const HullCells& hulls, std::span<HullBody> bodies) {
  const ShallowLayout& at = model.layout;
  const double to_impulse = model.density * model.spacing;
  // The part of a push that comes from pressure, where pressure and ground rise along the same way.
  const auto part = [&](Index low, Index high) {
    const double all = static_cast<double>(model.bed[high]) - model.bed[low];
    const double ground = static_cast<double>(model.ground[high]) - model.ground[low];
    return all != 0 ? std::clamp(1 - ground / all, 0.0, 1.0) : 0.0;
  };
  (void)before;
  const auto add = [&](int cell, int axis, double push, double share) {
    if (cell >= 0) bodies[hulls.cells()[cell].body].side[axis] -= to_impulse * push * share;
  };
  for (int axis = 0; axis < 2; ++axis) {
    const Index step = axis == 0 ? at.stride : 1;
    const Block<double>&cells = axis == 0 ? model.felt_u : model.felt_v,
          &faces = axis == 0 ? model.felt_face_u : model.felt_face_v;
    const int ends = model.sides[2 * axis].kind == ShallowSideKind::joined ? 1 : 0;
    for (Index n = 0; n < std::ssize(hulls.cells()); ++n) {
      const HullCell& cell = hulls.cells()[n];
      const Index k = at.at(cell.i, cell.j);
      add(static_cast<int>(n), axis, cells[k], part(k - step, k + step));
      for (int end = 0; end < 2; ++end) {
        Index i = cell.i + (axis == 0 ? 2 * end - 1 : 0), j = cell.j + (axis == 1 ? 2 * end - 1 : 0);
        if (ends == 0 && (i < 0 || i >= at.nx || j < 0 || j >= at.ny)) continue;
        i = (i + at.nx) % at.nx;
        j = (j + at.ny) % at.ny;
        const bool shared = hulls.at(i, j) >= 0;
        if (shared && end == 1) continue;  // the next cell counts the face
        const Index face = end == 0 ? k : at.at(i, j);
        add(static_cast<int>(n), axis, faces[face], part(end == 0 ? k - step : k, end == 0 ? k : k + step));
        if (shared) continue;
        // The ground of the open column beside the hull is steep too, as far as slopes see the hull.
        const Index on = 2 * end - 1;
        const Index beyond_i = (i + (axis == 0 ? on : 0) + at.nx) % at.nx, beyond_j = (j + (axis == 1 ? on : 0) + at.ny) % at.ny;
        const Index open = at.at(i, j);
        add(static_cast<int>(n), axis, cells[open],
            part(open - step, open + step) * (hulls.at(beyond_i, beyond_j) >= 0 ? 0.5 : 1.0));
      }
    }
  }
}

template void add_felt_impulses<float>(const ShallowModel<float>&, const float*, const HullCells&, std::span<HullBody>);
template void add_felt_impulses<double>(const ShallowModel<double>&, const double*, const HullCells&, std::span<HullBody>);
template HullSolve press_under_hulls<float>(const ShallowModel<float>&, ShallowFields<float>&, float*, HullCells&,
                                            std::span<HullBody>, double, const HullTolerance&);
template HullSolve press_under_hulls<double>(const ShallowModel<double>&, ShallowFields<double>&, double*, HullCells&,
                                             std::span<HullBody>, double, const HullTolerance&);

}  // namespace meniscus::fluids
