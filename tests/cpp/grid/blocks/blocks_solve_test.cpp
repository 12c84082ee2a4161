// Poisson solves on domains cut into blocks: the hierarchy, the regions, the iterations and the solution of a single block.
#include "cut_domains.hpp"
#include "grid/poisson/poisson_problems.hpp"
#include "test_size.hpp"

#include "meniscus/grid/poisson/poisson_solver.hpp"

using namespace meniscus;
using namespace meniscus::testing;
using namespace meniscus::grid;

namespace {

/// What a solve leaves, cell by cell of the domain.
template <int D>
struct Solved {
  explicit Solved(Index cells) : x(static_cast<std::size_t>(cells)), region(x.size(), -1) {}

  std::vector<double> x;
  std::vector<Index> region;
  std::vector<PoissonRegion<D>> regions;
  std::vector<double> residuals;
  numerics::SolveInfo info;
};

template <int D>
Index number_in_domain(const CellLayout<D>& layout, const Coord<D>& c) {
  Index n = 0;
  for (std::size_t d = 0; d < D; ++d) n = n * layout.domain[d] + layout.first[d] + c[d];
  return n;
}

/// The problem on the cells of a block; its functions know the domain.
template <int D>
PoissonProblem<D> on_block(const PoissonProblem<D>& problem, const CellLayout<D>& layout) {
  PoissonProblem<D> own = problem;
  own.layout = layout;
  const auto global = [layout](const Coord<D>& c, int axis) {
    Coord<D> g;
    for (std::size_t d = 0; d < D; ++d) {
      g[d] = layout.first[d] + c[d];
      const bool last_face = static_cast<int>(d) == axis && !layout.periodic[d];
      if (!last_face) g[d] = (g[d] % layout.domain[d] + layout.domain[d]) % layout.domain[d];
    }
    return g;
  };
  own.coefficient = [=, &problem](int d, const Coord<D>& c) { return problem.coefficient(d, global(c, d)); };
  own.unknown = [=, &problem](const Coord<D>& c) { return problem.unknown(global(c, -1)); };
  return own;
}

template <int D>
void solve_on(const PoissonProblem<D>& problem, const CellLayout<D>& layout, Index replicated, Solved<D>& result) {
  PoissonSolver<D> solver;
  solver.hierarchy().replicate(replicated);
  fill(on_block(problem, layout), solver.matrix);
  solver.prepare();
  const auto each = [&](auto&& body) {
    for_each_sample<D>(layout.cells, 0, [&](const Coord<D>& c) {
      if (solver.matrix.active[layout.index(c)]) body(layout.index(c), number_in_domain<D>(layout, c));
    });
  };
  each([&](Index i, Index n) { solver.b[i] = noise(9, static_cast<std::uint64_t>(n)); });
  numerics::SolveInfo info;
  numerics::SolveOptions options;
  options.order_free = true;
  solver.solve(options, true, info);
  each([&](Index i, Index n) { result.x[n] = solver.x[i]; });
  for (const auto& u : solver.regions().intervals()) {
    Coord<D> c;
    Index rest = u.index - layout.origin;
    for (std::size_t d = 0; d < D; rest %= layout.strides[d], ++d) c[d] = rest / layout.strides[d];
    const auto first = static_cast<std::ptrdiff_t>(number_in_domain<D>(layout, c));
    std::fill_n(result.region.begin() + first, u.count, u.region);
  }
  std::vector<double> residuals;
  solver.region_residuals(residuals);
  if (layout.halo.communicator().rank() != 0) return;
  result.info = info;
  result.regions = solver.regions().regions();
  result.residuals = residuals;
}

/// Cuts at uneven places, as many as the axes are long enough for.
template <int D>
std::array<std::vector<Index>, D> uneven_cuts(const Coord<D>& shape, bool slabs) {
  std::array<std::vector<Index>, D> cells;
  for (std::size_t d = 0; d < D; ++d) {
    const Index n = shape[d];
    if (n < 12 || (slabs && d + 1 != D))
      cells[d] = {n};
    else if (slabs)
      cells[d] = {n / 3 + 2, n / 4, n - n / 3 - 2 - n / 4};
    else
      cells[d] = {n / 2 - 1, n - n / 2 + 1};
  }
  return cells;
}

template <int D>
void check_solve(const PoissonProblem<D>& problem, bool slabs, Index replicated) {
  CAPTURE(problem.name);
  CAPTURE(replicated);
  CAPTURE(slabs);
  const Coord<D> shape = problem.layout.cells;
  Solved<D> expected(product<D>(shape)), found(product<D>(shape));
  solve_on<D>(problem, problem.layout, replicated, expected);
  const auto blocks = parallel::cut_domain<D>(shape, problem.layout.periodic, uneven_cuts<D>(shape, slabs));
  parallel::run_thread_blocks(static_cast<int>(blocks.size()), [&](const std::shared_ptr<parallel::Communicator>& communicator) {
    const auto poisoning = std::make_shared<PoisoningCommunicator>(communicator);
    solve_on<D>(problem, CellLayout<D>(blocks[communicator->rank()], poisoning), replicated, found);
  });
  CHECK(found.info.history == expected.info.history);
  CHECK(found.info.residual == expected.info.residual);
  CHECK(found.residuals == expected.residuals);
  CHECK(found.region == expected.region);
  CHECK(std::memcmp(found.x.data(), expected.x.data(), found.x.size() * sizeof(double)) == 0);
  REQUIRE(found.regions.size() == expected.regions.size());
  bool same = true;
  for (std::size_t r = 0; r < found.regions.size(); ++r) {
    const PoissonRegion<D>&a = found.regions[r], &b = expected.regions[r];
    same = same && a.cells == b.cells && a.closed == b.closed && a.first_cell == b.first_cell;
  }
  CHECK(same);
}

template <int D>
void check_all() {
  for (const PoissonProblem<D>& problem : poisson_problems<D>())
    for (const bool slabs : {false, true}) {
      const Coord<D> shape = problem.layout.cells;
      if (slabs != (product<D>(shape) > replicated_cells) && !tests::full_size()) continue;
      // Windows on all levels, or as many as are worth it.
      if (slabs || product<D>(shape) <= replicated_cells) check_solve(problem, slabs, 64);
      if (product<D>(shape) > replicated_cells) check_solve(problem, slabs, replicated_cells);
    }
}

/// A channel between thin walls that winds through all blocks, and chambers without a way out.
PoissonProblem<2> spiral() {
  PoissonProblem<2> problem{"spiral", CellLayout<2>({64, 64}, {false, false}), true, {}, {}};
  problem.coefficient = [](int d, const Coord<2>& c) {
    const auto ring = [](const Coord<2>& k) {
      const Index i = std::min(k[0], 63 - k[0]), j = std::min(k[1], 63 - k[1]);
      return std::min(i, j) / 3;
    };
    Coord<2> below = c;
    --below[d];
    if (below[d] < 0 || c[d] > 63) return 0.0;
    // A door in every ring's wall but each fourth, on alternate sides.
    const Index inner = std::max(ring(c), ring(below));
    if (ring(c) == ring(below)) return 1.0;
    const bool door = d == 0 && c[1] >= 30 && c[1] < 33 && (c[0] < 32) == (inner % 2 == 0);
    return door && inner % 4 != 0 ? 1.0 : 0.0;
  };
  return problem;
}

}  // namespace

TEST_CASE("Poisson solves in two dimensions have the bits of a single block on any blocks") { check_all<2>(); }

TEST_CASE("Poisson solves in three dimensions have the bits of a single block on any blocks") { check_all<3>(); }

TEST_CASE("chambers that wind through all blocks are the regions of a single block") {
  const PoissonProblem<2> problem = spiral();
  check_solve(problem, false, 64);
  check_solve(problem, true, 64);
}
