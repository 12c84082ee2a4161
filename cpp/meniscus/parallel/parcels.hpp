/// Messages between any two blocks, of which only the sender knows that they come and how long they are.
#pragma once

#include "meniscus/parallel/communicator.hpp"

#include <map>

namespace meniscus::parallel {

/// Bytes by the block that they go to, or come from.
using Parcels = std::map<int, std::vector<std::byte>>;

/// Collective: sends every parcel to its block, and returns those that have come. Their lengths go ahead in one gather, or in two
/// where a block sends to more than 26 others.
Parcels exchange_parcels(Communicator& communicator, int tag, Parcels& outgoing);

}  // namespace meniscus::parallel
