/// Window of a block: the samples of its strips and a margin around them, where a domain is cut into blocks; and the exchange of
/// strips between blocks.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/grid/strips/strip_grid.hpp"

#include <optional>

namespace meniscus::grid {

/// Moves samples from the blocks of a domain to the windows of their strips, and back.
template <int D>
class StripWindow {
 public:
  /// Collective.
  StripWindow(const FieldLayout<D>& layout, const StripGrid<D>& grid);

  /// Memory for a window. The elements before its first sample and after its last may be read; their values mean nothing.
  template <class T>
  Workspace::Lease<T> take(Workspace& workspace) const {
    auto lease = workspace.take<T>(product<D>(grid_.extents) + 2);
    if (lease.size() > 0) lease.data()[0] = lease.data()[lease.size() - 1] = T{};
    return lease;
  }
  template <class T>
  FieldView<T, D> view(const Workspace::Lease<T>& lease) const {
    return {lease.data() + 1, grid_.extents, c_strides<D>(grid_.extents)};
  }

  /// Collective. Fills a window from what the blocks own. `from` is index 0 of the block's samples.
  template <class T>
  void fetch(const T* from, const Coord<D>& strides, const FieldView<T, D>& window) {
    to_windows_.fetch(from + dot<D>(first_owned_, strides), strides, window.origin, window.strides);
  }
  /// Collective. Fills what the block owns from the windows of the blocks whose strips these samples are in.
  template <class T>
  void fetch_back(const FieldView<T, D>& window, T* to, const Coord<D>& strides) {
    to_blocks_.fetch(window.at(own_in_window_), window.strides, to + dot<D>(first_owned_, strides), strides);
  }

 private:
  const StripGrid<D>& grid_;
  Coord<D> first_owned_, own_in_window_;
  parallel::BoxExchange<D> to_windows_, to_blocks_;
};

/// Exchange of values per strip between the blocks of a domain. In a domain of one block it does nothing.
template <int D>
class StripExchange {
 public:
  /// Collective.
  StripExchange(const Grid<D>& domain, const StripGrid<D>& grid);

  /// Collective: whether any block says so.
  bool any(bool own) const;
  /// Collective. Fills the values of ghost strips from the blocks that update them, in arrays that have one for every strip.
  template <class... T>
  void fill_ghosts(T*... values) {
    if (exchange_) exchange_->transfer(std::array{exchange_->fetching(values, strides_)...});
  }
  /// Collective. Fills the values of ghost strips in several arrays, and calls take(strip) for the strips of this block whose
  /// ghosts in any block are marked, all in one round.
  template <class Take, class... T>
  void share(const std::uint8_t* marks, Take take, T*... values) {
    if (!exchange_) return;
    const std::array transfers{exchange_->giving_back(marks, strides_, strides_,
                                                      [own = own_, take](Index strip, std::uint8_t mark) {
                                                        if (mark) take(own + strip);
                                                      }),
                               exchange_->fetching(values, strides_)...};
    exchange_->transfer(transfers);
  }

 private:
  parallel::Communicator& communicator_;
  Coord<D> strides_{};
  Index own_ = 0;  ///< the first strip that the block updates
  std::optional<parallel::BoxExchange<D>> exchange_;
};

}  // namespace meniscus::grid
