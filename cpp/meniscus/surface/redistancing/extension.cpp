#include "meniscus/surface/redistancing/extension.hpp"

#include "meniscus/core/cancellation.hpp"
#include "meniscus/parallel/joint_reductions.hpp"
#include "meniscus/surface/redistancing/extension_strips.hpp"

namespace meniscus::surface {
namespace {

/// In a domain of one block the strips are in the field itself.
template <class T, int D>
ExtensionCounts extend_whole(grid::Field<T, D>& field, const grid::Field<T, D>& phi, std::uint8_t* known, double band,
                             ExtensionSide side, Workspace& workspace) {
  const StripGrid<D> strips(field.layout());
  Extension<T, D> extension(field, phi, strips, field.view(), known, band, side, workspace);
  extension.run();
  const NoInterrupts whole;
  return extension.commit();
}

/// In a domain cut into blocks, every block works on the window of its strips.
template <class T, int D>
ExtensionCounts extend_block(grid::Field<T, D>& field, const grid::Field<T, D>& phi, std::uint8_t* known, double band,
                             ExtensionSide side, Workspace& workspace) {
  const StripGrid<D> strips(field.layout());
  grid::StripWindow<D> window(field.layout(), strips);
  const grid::FieldView<T, D> view = field.view();
  const Coord<D> mask_strides = c_strides<D>(view.extents);
  const auto values = window.template take<T>(workspace);
  const auto mask = window.template take<std::uint8_t>(workspace);
  const grid::FieldView<T, D> own = window.view(values);
  const grid::FieldView<std::uint8_t, D> own_known = window.view(mask);
  window.template fetch<T>(view.origin, view.strides, own);
  window.template fetch<std::uint8_t>(known, mask_strides, own_known);
  Extension<T, D> extension(field, phi, strips, own, own_known.origin, band, side, workspace);
  extension.run();
  const NoInterrupts whole;
  ExtensionCounts counts = extension.commit();
  window.template fetch_back<T>(own, view.origin, view.strides);
  window.template fetch_back<std::uint8_t>(own_known, known, mask_strides);
  parallel::add_up(*field.grid().communicator(), {&counts.reached, &counts.unreached});
  return counts;
}

}  // namespace

template <class T, int D>
ExtensionCounts extend(grid::Field<T, D>& field, const grid::Field<T, D>& phi, std::uint8_t* known, double band,
                       ExtensionSide side, Workspace& workspace) {
  require(band > 0.0, "band must be positive, got ", band);
  require(field.grid() == phi.grid(), "field and level set must have the same grid");
  const ExtensionCounts counts = field.grid().block().cut() ? extend_block<T, D>(field, phi, known, band, side, workspace)
                                                            : extend_whole<T, D>(field, phi, known, band, side, workspace);
  // Copies on shared sides follow their owners.
  const NoInterrupts whole;
  field.layout().halo.exchange(field.storage().data());
  field.layout().copies().exchange(known);
  return counts;
}

#define MENISCUS_INSTANTIATE(T, D)                                                                                          \
  template ExtensionCounts extend<T, D>(grid::Field<T, D>&, const grid::Field<T, D>&, std::uint8_t*, double, ExtensionSide, \
                                        Workspace&);
MENISCUS_INSTANTIATE(float, 3)
MENISCUS_INSTANTIATE(double, 2)
MENISCUS_INSTANTIATE(double, 3)
#undef MENISCUS_INSTANTIATE

}  // namespace meniscus::surface
