/// Lists that grow by a quarter when they are full, and not to twice their size: there are many, and their memory is kept.
#pragma once

#include <cstddef>
#include <vector>

namespace meniscus::core {

template <class T>
void push_slowly(std::vector<T>& list, const T& value) {
  if (list.size() == list.capacity()) list.reserve(list.size() + list.size() / 4 + 16);
  list.push_back(value);
}

/// Resizes a list whose values may be lost.
template <class T>
void resize_anew(std::vector<T>& list, std::size_t size) {
  if (size > list.capacity()) {
    list = std::vector<T>();
    list.reserve(size + size / 8);
  }
  list.resize(size);
}

}  // namespace meniscus::core
