/// Expected volumes of the connected components ("parts") of a liquid, through motion, mergers and break-ups, and their
/// correction.
///
/// When a part breaks up, its pieces share its expected volume in proportion to what of their volumes comes from it; when
/// parts merge, their volumes add up. One too small to be resolved is always expected to have its present volume. The rest (of
/// parts that have vanished) is shared by the resolved ones of the same family (volume_families.hpp) in proportion. Nothing is
/// ever expected of liquid that was not connected with what was lost:
/// - What a family without parts still expects goes to the part that its last liquid has met; if that was leaving through an
///   open side, it has left; else it is written off.
/// - A part without origin belongs to the family of a part nearby, if there is one. Else it founds a family of which nothing is
///   expected, so that the part that it joins later has to give its volume back.
///
/// The correction moves the surface of each part along its normal by the missing volume per area, a few times over; parts of less
/// than a cell are left alone, as their surface is not resolved.
#pragma once

#include "meniscus/core/workspace.hpp"
#include "meniscus/fluids/liquid/volume_families.hpp"
#include "meniscus/fluids/liquid/walled_components.hpp"
#include "meniscus/grid/field.hpp"
#include "meniscus/grid/particles/particles.hpp"

#include <numeric>
#include <span>

namespace meniscus::fluids {

/// The liquid that is measured.
template <class T, int D>
struct MeasuredLiquid {
  grid::Field<T, D>& levelset;          ///< on cells, <= 0 in the liquid
  const grid::Field<double, D>* solid;  ///< on nodes, with ghosts up to date, or nullptr: the liquid in it does not count
};

/// A side of the domain.
struct Side {
  int axis;
  bool upper;
};

/// Labels the connected components of a liquid from 1 (air: 0) and sets volumes[label], with volumes[0] = 0. Collective: labels
/// and volumes are those of the whole domain. Beside a solid the volume is what both surfaces leave of a cell, however thin the
/// film between them, and cells of a film have its label wherever their centres are (surface::label_outside).
template <class T, int D>
void measure_components(const MeasuredLiquid<T, D>& liquid, std::int32_t* labels, std::vector<double>& volumes,
                        Workspace& workspace);

/// Search for the distance by which the surface of a part moves so that the part has its expected volume. The volume grows with
/// the distance: by the area of the surface at first, then as between the last two distances, and always between those that were
/// too small and too large. (By the area alone, which is off by several times where a part has few cells, the search would not
/// end.)
class DistanceSearch {
 public:
  /// Between two distances, m.
  DistanceSearch(double lowest, double highest) : lowest_(lowest), highest_(highest), low_(lowest), high_(highest) {}

  double distance = 0.0;  ///< m, outwards

  /// Takes the volume that the part has at the present distance, and sets the next distance.
  void advance(double volume, double expected, double area);
  bool started() const { return started_; }

 private:
  double lowest_, highest_, low_, high_;
  bool low_known_ = false, high_known_ = false;  ///< whether the volume there is known
  double previous_ = 0.0, previous_volume_ = 0.0;
  bool started_ = false;
};

/// Labels are those of the cells of the block; volumes, expected ones and families are of the whole domain, the same on all
/// blocks. Whatever measures, moves or shares volumes is collective.
template <int D>
class VolumeBudget {
 public:
  /// The level set of a solid on nodes; drops have nothing to do with what lies behind it.
  using Solid = grid::Field<double, D>;

  explicit VolumeBudget(const grid::Grid<D>& grid);

  /// One label per owned cell, in C order.
  Block<std::int32_t>& labels() { return labels_; }
  /// Measured, and expected, by label; the entry of label 0 is zero.
  const std::vector<double>& volumes() const { return volumes_; }
  const std::vector<double>& expected() const { return expected_; }
  double total_volume() const { return std::accumulate(volumes_.begin(), volumes_.end(), 0.0); }
  /// The families of the parts, with what is expected of them until `distribute_unassigned`.
  const VolumeFamilies& families() const { return families_; }
  /// Sets everything but the labels. Throws InvalidArgument for vectors of unequal length, labels without a volume, volumes that
  /// are not finite, and families that are not there.
  void set(std::span<const double> volumes, std::span<const double> expected, std::span<const std::int32_t> families,
           std::span<const double> unassigned, std::span<const double> sprayed);
  Index bytes() const { return labels_.size() * 8; }

  /// Lets everything from now on see thin walls where they are, by reference; nullptr: there are none. `motion`: how they came
  /// there in the last motion of the liquid.
  void see_walls(const grid::ThinWalls<D>* walls, const MovedWalls<D>& motion) {
    walls_ = walls;
    moved_walls_ = motion;
  }

  /// Starts from the present liquid.
  template <class T>
  void reset(const MeasuredLiquid<T, D>& liquid, Workspace& workspace);

  /// Measures the present liquid, of which as much is expected as before.
  template <class T>
  void measure(const MeasuredLiquid<T, D>& liquid, Workspace& workspace);

  /// Updates the parts after the liquid has moved along a velocity for dt. Returns what was still expected of parts that have
  /// left through `open_sides`, m^D: what was accounted for of their outflow was too little by that.
  template <class T>
  double update_after_motion(const MeasuredLiquid<T, D>& liquid, const grid::MacField<T, D>& velocity, double dt,
                             std::span<const Side> open_sides, Workspace& workspace);

  /// Updates the expected volumes after sources or drains have changed the liquid; returns the change of its volume. Before they
  /// do so, `measure` is called: every change since counts.
  template <class T>
  double update_after_sources(const MeasuredLiquid<T, D>& liquid, Workspace& workspace);

  /// Accounts for the liquid that will leave through a side of the domain in dt, before it moves; returns its volume, m^D. It is
  /// what lies as far before the open part of the side as the flow goes there in dt. No part gives more than is expected of it.
  template <class T>
  double account_outflow(const grid::MacField<T, D>& velocity, const grid::Field<T, D>& fractions, const Side& side, double dt,
                         const Solid* solid, Workspace& workspace);

  /// Accounts for the flow into the domain in dt; returns its volume, m^D. The liquid part of a face is extrapolated linearly
  /// from the fractions of the two cells before it.
  template <class T>
  double account_inflow(const grid::MacField<T, D>& velocity, const grid::Field<T, D>& fractions, const Side& side, double dt,
                        const Solid* solid, Workspace& workspace);

  /// Subtracts the volumes of the drops from index `first` on from the parts around them, or from what is still expected of parts
  /// that have vanished there. Returns the outflow that this adds, m^D, negative: of parts that were taken for having left.
  template <class T>
  double subtract_drops(grid::ParticleSet& drops, Index first, const Solid* solid, Workspace& workspace);

  /// Adds the volumes of the drops that join the liquid, those that `surface::reincorporate` with a fraction of 1 takes, to the
  /// parts around them. Returns the outflow that this adds, as above, positive. Drops lie in their blocks.
  template <class T>
  double add_joining_drops(grid::ParticleSet& drops, grid::Field<T, D>& levelset, double time, const Solid* solid,
                           Workspace& workspace);

  /// Adds n volumes (m^D, of any sign) at positions (n, D), m, in this block to the parts around them, as those of drops that
  /// join; every block adds its own. Returns the outflow that all of them add, as above.
  double add_volumes(const double* positions, const double* volumes, Index n, const Solid* solid, Workspace& workspace);

  /// Distributes the unassigned volume of each family over its parts. Those too small to be resolved are expected to stay as they
  /// are. What those of them that are leaving through a side have less than expected is no other part's: it is returned (m^D) as
  /// outflow that was not accounted for.
  double distribute_unassigned();

  /// Moves the surface of each part so that it has its expected volume, by at most 0.3 cells; returns the largest distance, m.
  /// Nothing is changed if anything is thrown.
  template <class T>
  double correct(const MeasuredLiquid<T, D>& liquid, Workspace& workspace);

 private:
  /// Transfers amounts of the present parts to those with the labels in `next_`: into `transferred_`, with `has_origin_`. Starts
  /// the transfer of their families.
  void transfer_to_components(const std::vector<double>& amounts, const std::int32_t* origin, Workspace& workspace);
  void list_transfers(std::uint64_t origins, std::uint64_t count, const std::int32_t* origin, Workspace& workspace);
  /// Measures a liquid into `next_` and `next_volumes_`.
  template <class T>
  void measure_next(const MeasuredLiquid<T, D>& liquid, Workspace& workspace);
  void commit_measured();
  bool match_components();
  void commit_matched();
  double commit_motion(std::span<const std::int32_t> heirs = {});
  double commit_change(Workspace& workspace);
  void add_to_expected();
  void find_relatives(const std::int32_t* around);
  template <class T>
  double find_heirs(const grid::MacField<T, D>& velocity, double dt, const Solid* solid, std::span<const Side> open_sides,
                    std::vector<std::int32_t>& heirs, Workspace& workspace);
  bool goes_through_wall(const Coord<D>& from, const Coord<D>& to) const;
  std::int32_t family_of_vanished(const Coord<D>& cell, const Vec<double, D>& at) const;
  std::array<std::int32_t, 2> label_and_family(const Coord<D>& cell, const Vec<double, D>& at, const std::int32_t* around) const;
  /// The label of the nearest cell around a cell whose centre a place in it sees; 0 where it sees none that has one.
  std::int32_t label_seen(const Coord<D>& cell, const Vec<double, D>& at, const std::int32_t* around) const;
  bool is_leaving(std::size_t label) const { return label < leaving_.size() && leaving_[label] != 0; }
  template <class T>
  double transfer_drops(grid::ParticleSet& drops, const std::uint8_t* flags, double sign, const Solid* solid,
                        Workspace& workspace);
  template <class T>
  double transfer(const T* positions, const double* volumes, Index n, const Solid* solid, Workspace& workspace);
  /// Cells around a part that count to it: where its surface is moved, and where drops leave and join it.
  static constexpr int spread = 4;
  /// Cells between the last liquid of a part that has vanished and one that it has met.
  static constexpr int meeting = 2;
  Workspace::Lease<std::int32_t> labels_around(const Block<std::int32_t>& labels, int layers, const Solid* solid,
                                               Workspace& workspace) const;
  Workspace::Lease<std::int32_t> labels_before(const Solid* solid, Workspace& workspace) const;
  Workspace::Lease<std::int32_t> labels_after(const Solid* solid, Workspace& workspace) const;
  Index cells() const { return labels_.size(); }

  grid::Grid<D> grid_;
  double cell_;
  const grid::ThinWalls<D>* walls_ = nullptr;
  MovedWalls<D> moved_walls_;
  Block<std::int32_t> labels_;
  Block<std::int32_t> next_;
  std::vector<double> volumes_{0.0};
  std::vector<double> expected_{0.0};
  VolumeFamilies families_;
  // Scratch, by label.
  std::vector<double> next_volumes_;
  std::vector<double> volume_per_cell_;
  std::vector<double> transferred_;
  std::vector<std::uint8_t> has_origin_;
  std::vector<std::uint8_t> goes_on_;  ///< by label before the transfer: whether any of it is left
  std::vector<std::uint8_t> leaving_;  ///< whether there was outflow since the last distribution; empty: of none
  std::vector<double> amounts_;
  std::vector<DistanceSearch> searches_;
  std::vector<std::int32_t> next_of_;
  std::vector<std::int32_t> origin_of_;
  /// Cells that come from one part and belong to another: the number of the first times the number of parts, plus that of the
  /// other.
  struct Transfer {
    std::uint64_t key;
    Index cells;
  };
  std::vector<Transfer> transfers_;
  /// Where parts of all blocks have vanished in the last motion, by cells of the domain, and the family that goes on expecting
  /// their volume, or `has_left`. Drops that come from there take from that.
  struct Vanished {
    Coord<D> cell;
    std::int32_t family;
  };
  std::vector<Vanished> vanished_;
};

}  // namespace meniscus::fluids
