/// The samples of a field that the own block owns: each sample of the domain once, whatever the blocks.
#pragma once

#include "meniscus/grid/field.hpp"

namespace meniscus::grid {

/// Calls visit(sample) for the samples that the block owns.
template <class T, int D, class Visit>
void for_each_owned(const Field<T, D>& f, Visit&& visit) {
  const auto view = f.view();
  Coord<D> begin, n;
  for (int d = 0; d < D; ++d) {
    const Index a = d;
    begin[a] = f.layout().halo.first_owned(d);
    n[a] = view.extents[a] - begin[a];
  }
  for (Index i = 0; i < product<D>(n); ++i) {
    Coord<D> c;
    Index rest = i;
    for (std::size_t d = D; d-- > 0; rest /= n[d]) c[d] = begin[d] + rest % n[d];
    visit(*view.at(c));
  }
}

}  // namespace meniscus::grid
