#include "meniscus/fluids/viscosity/component_multigrid.hpp"

#include "meniscus/fluids/pressure/projection_rows.hpp"

namespace meniscus::fluids {
namespace {

/// Part of the diagonal that is added to masses: single precision would lose them beside a stress that is a million times larger,
/// and drops that nothing holds would make the matrix indefinite.
constexpr double visible = 1e-6;

}  // namespace

template <int D>
Index ComponentMultigrid<D>::bytes() const {
  Index n = 0;
  for (const Component& c : components_) {
    n += c.hierarchy.bytes() + c.matrix.bytes();
  }
  return n;
}

template <int D>
void ComponentMultigrid<D>::prepare(const grid::CellLayout<D>& layout, const double* weight, const double* mass,
                                    const double* inverse_diagonal, double strength) {
  scale_ = 1 / strength;
  for (int axis = 0; axis < D; ++axis) {
    const Index a = axis;
    const Index offset = axis * layout.size;
    grid::FaceMatrix<double, D>& matrix = components_[a].matrix;
    if (matrix.masses.size() == 0) {
      matrix.reset(layout, true);
      matrix.masses = Block<double>(layout.size);
      std::fill(matrix.masses.begin(), matrix.masses.end(), 0.0);
    }
    matrix.open_coupling.fill(1.0);
    matrix.open_coupling[a] = 2.0;
    for (int d = 0; d < D; ++d) {
      // Along its own axis a face has the stresses of cells beside it; across, those of edges.
      const double* from = weight + (d == axis ? offset - layout.strides[a] : (D + pair_of(axis, d)) * layout.size);
      double* to = matrix.faces[d].data();
      grid::for_each_face_row<D>(layout, d, [&](const Coord<D>& c, Index count, int, int) {
        const Index first = layout.index(c);
        for (Index i = first; i < first + count; ++i) to[i] = from[i] / strength;
      });
    }
    for_each_cell_row<D>(layout, [&](const Coord<D>&, Index first, Index count) {
      for (Index i = first; i < first + count; ++i) {
        const double inverse = strength * inverse_diagonal[offset + i], diagonal = inverse > 0 ? 1 / inverse : 0.0;
        matrix.masses[i] = mass[offset + i] / strength + visible * diagonal;
        matrix.diagonal[i] = (1 + visible) * diagonal;
      }
    });
    matrix.finish();
    components_[a].hierarchy.build(matrix);
  }
}

template <int D>
void ComponentMultigrid<D>::apply(const double* r, double* z) {
  for (Component& c : components_) {
    const grid::CellLayout<D>& layout = c.matrix.layout;
    const std::uint8_t* active = c.matrix.active.data();
    float* b = c.hierarchy.right_hand_side().data();
    for_each_cell_row<D>(layout, [=, &c](const Coord<D>& cell, Index first, Index count) {
      float* single = b + c.hierarchy.place(cell) - first;
      for (Index i = first; i < first + count; ++i) single[i] = active[i] ? static_cast<float>(r[i]) : 0.0f;
    });
    c.hierarchy.cycle();
    const float* x = c.hierarchy.correction().data();
    for_each_cell_row<D>(layout, [=, &c, scale = scale_](const Coord<D>& cell, Index first, Index count) {
      const float* single = x + c.hierarchy.place(cell) - first;
      for (Index i = first; i < first + count; ++i) z[i] = active[i] ? scale * static_cast<double>(single[i]) : 0.0;
    });
    r += layout.size;
    z += layout.size;
  }
}

template class ComponentMultigrid<2>;
template class ComponentMultigrid<3>;

}  // namespace meniscus::fluids
