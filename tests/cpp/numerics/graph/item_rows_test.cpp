// Items by the rows that they belong to.
#include "meniscus/numerics/graph/item_rows.hpp"

#include <doctest/doctest.h>

#include <utility>

using namespace meniscus;

TEST_CASE("items are listed by rows in the order in which they come") {
  const std::vector<std::pair<std::int32_t, char>> items{{2, 'a'}, {0, 'b'}, {2, 'c'}, {4, 'd'}, {0, 'e'}, {2, 'f'}};
  std::vector<Index> start{7, 7};
  std::vector<char> listed;
  const auto list = [&](Index rows, Index count) {
    numerics::list_by_rows(rows, start, listed, [&](auto&& add) {
      for (Index i = 0; i < count; ++i) add(items[i].first, items[i].second);
    });
  };
  list(5, 6);
  CHECK(start == std::vector<Index>{0, 2, 2, 5, 5, 6});
  CHECK(listed == std::vector<char>{'b', 'e', 'a', 'c', 'f', 'd'});
  const auto* const memory = listed.data();
  list(3, 3);
  CHECK(start == std::vector<Index>{0, 1, 1, 3});
  CHECK(listed == std::vector<char>{'b', 'a', 'c'});
  CHECK(listed.data() == memory);
  list(0, 0);
  CHECK(start == std::vector<Index>{0});
  CHECK(listed.empty());
}

TEST_CASE("counts become the begins of rows") {
  std::vector<std::int32_t> start{-1, 3, 0, 2};
  CHECK(numerics::starts_of_counts<std::int32_t>(start) == 5);
  CHECK(start == std::vector<std::int32_t>{0, 3, 3, 5});
}
