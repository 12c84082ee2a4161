/// The samples of a field that the own block owns: each sample of the domain once, whatever the blocks.
#pragma once

#include "meniscus/grid/field.hpp"
#include "meniscus/parallel/box_exchange.hpp"

namespace meniscus::grid {

/// Calls visit(sample) for the samples that the block owns.
template <class T, int D, class Visit>
void for_each_owned(const Field<T, D>& f, Visit&& visit) {
  const auto view = f.view();
  const parallel::DomainBlock<D>& block = f.grid().block();
  const parallel::IndexBox<D> own = parallel::owned_samples<D>(block, f.stagger().on_side).from(block.first);
  const Coord<D> n = own.extents();
  for (Index i = 0; i < product<D>(n); ++i) {
    Coord<D> c;
    Index rest = i;
    for (std::size_t d = D; d-- > 0; rest /= n[d]) c[d] = own.begin[d] + rest % n[d];
    visit(*view.at(c));
  }
}

/// Collective: the samples of a field in a box of the domain, which differs from block to block, in an array with these strides.
template <class T, int D>
void fetch_box(const Field<T, D>& f, const parallel::IndexBox<D>& box, T* to, const Coord<D>& strides) {
  const auto view = f.view();
  const parallel::DomainBlock<D>& block = f.grid().block();
  const parallel::IndexBox<D> own = parallel::owned_samples<D>(block, f.stagger().on_side);
  parallel::BoxExchange<D>(*f.grid().communicator(), own, box, parallel::periods<D>(block))
      .template fetch<T>(view.at(own.from(block.first).begin), view.strides, to, strides);
}

}  // namespace meniscus::grid
