#include "meniscus/grid/poisson/engines/engine_system.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/core/parallel.hpp"

#include <limits>
#include <string_view>

namespace meniscus::grid {
namespace {

/// Calls body(index of the first cell of a row in the layout, number of that cell among all), in parallel.
template <int D, class Body>
void for_each_row(const CellLayout<D>& layout, Body&& body) {
  const Index length = layout.cells[D - 1];
  parallel_for(0, layout.rows(), std::max<Index>(1, 16384 / length), [&](Index begin, Index end) {
    for (Index r = begin; r < end; ++r) body(layout.row(r), r * length);
  });
}

}  // namespace

template <int D>
EngineSystem<D>::EngineSystem(const meniscus_structured_engine& engine, const CellLayout<D>& layout)
    : engine_(engine), layout_(layout) {
  require(engine.version == meniscus_structured_engine_version, "the module for ", engine.name, " was compiled for version ",
          engine.version, " of the table of functions, this is version ", meniscus_structured_engine_version);
  require(engine.running() != 0, engine.name, " needs a running MPI: it has not been initialised, or was shut down");
  const parallel::Communicator& communicator = layout.halo.communicator();
  const auto handle = communicator.handle();
  const bool alone = communicator.size() == 1;
  require(alone || (handle && std::string_view(communicator.transport()) == engine.transport), engine.name,
          " was built for ranks of ", engine.transport, ", these are over ", communicator.transport());
  // The last axis varies fastest here.
  std::array<int, D> first, last, periods;
  for (std::size_t d = 0; d < D; ++d) {
    const std::size_t axis = D - 1 - d;
    require(layout.domain[axis] <= std::numeric_limits<int>::max(), engine.name, " takes up to 2^31 - 1 cells along an axis");
    first[d] = static_cast<int>(layout.first[axis]);
    last[d] = static_cast<int>(layout.first[axis] + layout.cells[axis] - 1);
    periods[d] = layout.periodic[axis] && layout.domain[axis] > 1 ? static_cast<int>(layout.domain[axis]) : 0;
  }
  check(engine.create(handle.value_or(0), alone, D, first.data(), last.data(), periods.data(), &system_));
}

template <int D>
EngineSystem<D>::~EngineSystem() {
  if (system_ && engine_.running()) engine_.release(system_);
}

template <int D>
void EngineSystem<D>::check(int error) const {
  if (error == 0) return;
  char text[512] = "";
  engine_.error_text(error, text, sizeof text);
  require(false, engine_.name, " reports: ", static_cast<const char*>(text));
}

template <int D>
void EngineSystem<D>::set(const FaceMatrix<double, D>& matrix, bool singular) {
  if (known_) return;
  std::vector<double> values(layout_.count() * (D + 1));
  for_each_row<D>(layout_, [&](Index row, Index number) {
    double* to = values.data() + number * (D + 1);
    for (Index i = row; i < row + layout_.cells[D - 1]; ++i, to += D + 1) {
      to[0] = matrix.active[i] ? matrix.diagonal[i] : 1.0;
      for (int d = 0; d < D; ++d) {
        const int axis = D - 1 - d;
        const bool coupled = matrix.active[i] && matrix.active[i - layout_.strides[axis]];
        to[1 + d] = coupled ? -matrix.face(axis, i) : 0.0;
      }
    }
  });
  check(engine_.set_matrix(system_, values.data(), singular));
  known_ = true;
}

template <int D>
int EngineSystem<D>::solve(const FaceMatrix<double, D>& matrix, const Block<double>& b, Block<double>& x, double tolerance,
                           int max_iterations) {
  from_.resize(layout_.count());
  to_.resize(from_.size());
  const Index length = layout_.cells[D - 1];
  for_each_row<D>(layout_, [&](Index row, Index number) {
    double* to = from_.data() + number;
    for (Index k = 0; k < length; ++k) to[k] = matrix.active[row + k] ? b[row + k] : 0.0;
  });
  int iterations = 0;
  check(engine_.solve(system_, from_.data(), to_.data(), tolerance, max_iterations, &iterations));
  for_each_row<D>(layout_, [&](Index row, Index number) {
    const double* from = to_.data() + number;
    for (Index k = 0; k < length; ++k) x[row + k] = matrix.active[row + k] ? from[k] : 0.0;
  });
  return iterations;
}

template class EngineSystem<2>;
template class EngineSystem<3>;

}  // namespace meniscus::grid
