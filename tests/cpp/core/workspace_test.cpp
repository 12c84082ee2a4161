// Tests of scratch memory: returned blocks are handed out again, and blocks in use are not.
#include "meniscus/core/workspace.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>

using namespace meniscus;

TEST_CASE("a block that was given back is used again") {
  Workspace w;
  double* first = w.take<double>(100).data();
  CHECK(w.take<double>(100).data() == first);
  CHECK(w.take<float>(200).data() == reinterpret_cast<float*>(first));
  CHECK(w.bytes() == 800);

  const Index before = block_allocations();
  for (int i = 0; i < 10; ++i) {
    const auto a = w.take<double>(50);
    CHECK(a.data() == first);
  }
  CHECK(block_allocations() == before);
}

TEST_CASE("the smallest block that fits is taken, and none that is on loan") {
  Workspace w;
  const auto* large = w.take<std::byte>(1000).data();
  const auto held = w.take<std::byte>(1000);
  CHECK(held.data() == large);
  const auto second = w.take<std::byte>(100);
  CHECK(second.data() != large);
  CHECK(w.bytes() == 1100);
  {
    Workspace v;
    const std::byte* a = nullptr;
    const std::byte* b = nullptr;
    {
      const auto big = v.take<std::byte>(1000);
      const auto small = v.take<std::byte>(10);
      a = big.data();
      b = small.data();
    }
    const auto small = v.take<std::byte>(5);
    const auto big = v.take<std::byte>(900);
    CHECK(small.data() == b);
    CHECK(big.data() == a);
  }
}

TEST_CASE("a lease can be moved and swapped; it gives back once") {
  Workspace w;
  auto a = w.take<int>(10);
  auto b = w.take<int>(20);
  int* const pa = a.data();
  int* const pb = b.data();
  std::swap(a, b);
  CHECK(a.data() == pb);
  CHECK(b.data() == pa);
  CHECK(a.size() == 20);
  a = Workspace::Lease<int>();
  CHECK_FALSE(static_cast<bool>(a));
  const auto c = w.take<int>(20);
  CHECK(c.data() == pb);  // a's block was free again, b's was not
  const auto d = std::move(b);
  const auto e = w.take<int>(1);
  CHECK(e.data() != pa);
  CHECK(d.data() == pa);
}

TEST_CASE("clear frees what is not on loan") {
  Workspace w;
  auto kept = w.take<double>(10);
  kept.data()[9] = 1.5;
  {
    const auto other = w.take<double>(1000);
  }
  CHECK(w.bytes() == 8080);
  const Index alive = block_bytes();
  w.clear();
  CHECK(w.bytes() == 80);
  CHECK(block_bytes() == alive - 8000);
  CHECK(kept.data()[9] == 1.5);
  const auto again = w.take<double>(1000);
  CHECK(again.data() != kept.data());
}

TEST_CASE("memory is aligned for the widest vectors, and an empty block is a block") {
  Workspace w;
  for (const Index n : {Index{0}, Index{1}, Index{3}, Index{1000}}) {
    const auto a = w.take<std::uint8_t>(n);
    CHECK(reinterpret_cast<std::uintptr_t>(a.data()) % 64 == 0);
    CHECK(a.data() != nullptr);
  }
}

TEST_CASE("a shared block outlives its owner") {
  const Index before = block_bytes();
  std::shared_ptr<std::byte> share;
  {
    Block<float> block(4);
    block[3] = 2.0f;
    share = block.memory();
  }
  CHECK(block_bytes() == before + 16);
  CHECK(reinterpret_cast<float*>(share.get())[3] == 2.0f);
  share.reset();
  CHECK(block_bytes() == before);
}

TEST_CASE("a workspace whose requests grow does not keep a block of each size") {
  Workspace space;
  Index most = 0;
  for (Index n = 1000; n < 3000; n += 10) {
    const auto first = space.take<double>(n), second = space.take<double>(2 * n);
    most = 3 * n * static_cast<Index>(sizeof(double));
  }
  CHECK(space.bytes() >= most);
  CHECK(space.bytes() <= 2 * most);
}
