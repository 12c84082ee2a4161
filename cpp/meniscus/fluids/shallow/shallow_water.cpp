#include "meniscus/fluids/shallow/shallow_water.hpp"

#include "meniscus/core/error.hpp"
#include "meniscus/fluids/shallow/wet_cells.hpp"

namespace meniscus::fluids {

template <class T>
ShallowWater<T>::ShallowWater(const ShallowModel<T>& model, ShallowScheme scheme)
    : model_(model), water_(model.layout), scheme_(scheme) {
  model_.ground = shallow_array<T>(model_.layout);
  if (scheme == ShallowScheme::flux)
    flux_ = std::make_unique<FluxScheme<T>>(model_.layout);
  else
    staggered_ = std::make_unique<StaggeredScheme<T>>(model_.layout, scheme == ShallowScheme::printed);
}

namespace {

template <class T>
Block<T>& member(ShallowArray which, ShallowModel<T>& m, ShallowFields<T>& w) {
  switch (which) {
    case ShallowArray::depth:
      return w.depth;
    case ShallowArray::u:
      return w.u;
    case ShallowArray::v:
      return w.v;
    case ShallowArray::ground:
      return m.ground;
    case ShallowArray::pressure:
      return m.pressure;
    case ShallowArray::gravity_of:
      return m.gravity_of;
    case ShallowArray::manning:
      return m.manning;
    case ShallowArray::push_u:
      return m.push_u;
    case ShallowArray::push_v:
      return m.push_v;
    case ShallowArray::stress_u:
      return m.stress_u;
    case ShallowArray::stress_v:
      return m.stress_v;
    case ShallowArray::damping_u:
      return m.damping_u;
    case ShallowArray::damping_v:
      return m.damping_v;
    case ShallowArray::level:
      return m.level;
    default:
      break;
  }
  throw InvalidArgument("walls are no array of numbers");
}

}  // namespace

template <class T>
Block<T>& ShallowWater<T>::array(ShallowArray which) {
  Block<T>& block = member(which, model_, water_);
  if (block.size() == 0) block = shallow_array<T>(model_.layout, which == ShallowArray::gravity_of ? T(model_.gravity) : T(0));
  return block;
}

template <class T>
void ShallowWater<T>::drop(ShallowArray which) {
  require(which > ShallowArray::ground, "water and ground are always there");
  member(which, model_, water_) = {};
}

template <class T>
int ShallowWater<T>::faces_of(ShallowArray which) const {
  if (which == ShallowArray::wall_u) return 0;
  if (which == ShallowArray::wall_v) return 1;
  if (scheme_ == ShallowScheme::flux) return -1;
  return which == ShallowArray::u ? 0 : which == ShallowArray::v ? 1 : -1;
}

template <class T>
Block<std::uint8_t>& ShallowWater<T>::walls(int axis) {
  if (model_.wall_u.size() == 0) {
    model_.wall_u = shallow_array<std::uint8_t>(model_.layout);
    model_.wall_v = shallow_array<std::uint8_t>(model_.layout);
  }
  return axis == 0 ? model_.wall_u : model_.wall_v;
}

template <class T>
ShallowSums ShallowWater<T>::advance(double dt) {
  prepare_shallow(model_);
  return flux_ ? flux_->advance(model_, water_, dt) : staggered_->advance(model_, water_, dt);
}

template <class T>
double ShallowWater<T>::longest_substep() {
  prepare_shallow(model_);
  return flux_ ? flux_->longest_substep(model_, water_) : staggered_->longest_substep(model_, water_);
}

template <class T>
void ShallowWater<T>::fill_ratio(double flat, double film, double* ratio) {
  fill_shallow_ghosts(model_, model_.ground.data(), -1);
  fill_shallow_ghosts(model_, water_.depth.data(), -1);
  fluids::fill_ratio(model_, water_, flat, film, ratio);
}

template <class T>
void ShallowWater<T>::height_over_water(double* height) {
  fill_shallow_ghosts(model_, model_.ground.data(), -1);
  fill_shallow_ghosts(model_, water_.depth.data(), -1);
  fluids::height_over_water(model_, water_, height);
}

template <class T>
Index ShallowWater<T>::bytes() const {
  const ShallowModel<T>& m = model_;
  Index values = 3 * m.layout.size();
  for (const Block<T>* block : {&m.ground, &m.pressure, &m.gravity_of, &m.root, &m.manning, &m.push_u, &m.push_v, &m.stress_u,
                                &m.stress_v, &m.damping_u, &m.damping_v, &m.level})
    values += block->size();
  if (m.pressure.size() > 0) values += m.bed.size();
  const Index scratch = flux_ ? flux_->bytes() : staggered_->bytes();
  return values * static_cast<Index>(sizeof(T)) + m.wall_u.size() + m.wall_v.size() + scratch;
}

template class ShallowWater<float>;
template class ShallowWater<double>;

}  // namespace meniscus::fluids
