/// Particles as bytes for messages: all columns of a particle after each other.
#pragma once

#include "meniscus/grid/particles/particles.hpp"

#include <cstring>
#include <span>

namespace meniscus::grid {

/// Bytes of a particle in some columns, given by their indices.
inline std::size_t bytes_of_row(const ParticleSet& particles, const std::vector<std::size_t>& columns) {
  std::size_t bytes = 0;
  for (const std::size_t c : columns) bytes += static_cast<std::size_t>(particles.columns()[c].row_bytes());
  return bytes;
}

inline void pack_row(const ParticleSet& particles, const std::vector<std::size_t>& columns, Index i,
                     std::vector<std::byte>& bytes) {
  for (const std::size_t k : columns) {
    const ParticleColumn& c = particles.columns()[k];
    const std::byte* row = c.data.data() + i * c.row_bytes();
    bytes.insert(bytes.end(), row, row + c.row_bytes());
  }
}

/// Writes a particle from a message over another one; returns what follows it in the message.
inline const std::byte* put_row(ParticleSet& particles, const std::vector<std::size_t>& columns, Index i, const std::byte* from) {
  for (const std::size_t k : columns) {
    ParticleColumn& c = particles.column(particles.columns()[k].name);
    const Index row = c.row_bytes();
    std::memcpy(c.data.data() + i * c.row_bytes(), from, row);
    from += row;
  }
  return from;
}

/// Adds the particles in a message. The ids are those in the message; the next id is left to the caller.
inline void append_rows(ParticleSet& particles, const std::vector<std::size_t>& columns, std::span<const std::byte> bytes) {
  const auto count = static_cast<Index>(bytes.size() / bytes_of_row(particles, columns));
  const Index first = particles.append(count);
  std::vector<std::byte*> to;
  std::vector<std::size_t> rows;
  for (const std::size_t k : columns) {
    ParticleColumn& c = particles.column(particles.columns()[k].name);
    rows.push_back(c.row_bytes());
    to.push_back(c.data.data() + first * c.row_bytes());
  }
  const std::byte* from = bytes.data();
  for (Index i = 0; i < count; ++i)
    for (std::size_t k = 0; k < to.size(); ++k) {
      std::memcpy(to[k], from, rows[k]);
      to[k] += rows[k];
      from += rows[k];
    }
}

}  // namespace meniscus::grid
