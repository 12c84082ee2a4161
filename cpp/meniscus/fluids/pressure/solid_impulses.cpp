#include "meniscus/fluids/pressure/solid_impulses.hpp"

#include <algorithm>

namespace meniscus::fluids {

void VolumeRows::clear() {
  cell_.clear();
  end_.clear();
  velocity_.clear();
  value_.clear();
}

void VolumeRows::begin_row(Index cell) {
  cell_.push_back(cell);
  end_.push_back(static_cast<Index>(value_.size()));
}

void VolumeRows::add(std::int32_t velocity, double value) {
  if (value == 0) return;
  velocity_.push_back(velocity);
  value_.push_back(value);
  ++end_.back();
}

// One thread: the rows are few beside the cells, and sums have one order.
void VolumeRows::gather(const double* p, double scale, std::span<double> f) const {
  std::fill(f.begin(), f.end(), 0.0);
  Index entry = 0;
  for (std::size_t row = 0; row < cell_.size(); ++row) {
    const double pressure = scale * p[cell_[row]];
    for (; entry < end_[row]; ++entry) f[velocity_[entry]] += value_[entry] * pressure;
  }
}

void VolumeRows::scatter(std::span<const double> v, double* q) const {
  Index entry = 0;
  for (std::size_t row = 0; row < cell_.size(); ++row) {
    double sum = 0;
    for (; entry < end_[row]; ++entry) sum += value_[entry] * v[velocity_[entry]];
    q[cell_[row]] += sum;
  }
}

Index VolumeRows::bytes() const {
  return static_cast<Index>(8 * (cell_.size() + end_.size() + value_.size()) + 4 * velocity_.size());
}

}  // namespace meniscus::fluids
