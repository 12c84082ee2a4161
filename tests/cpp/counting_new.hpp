// Global operator new that counts its calls.
#pragma once

namespace meniscus::testing {

/// Calls of operator new, of every form and by every thread, since the start of the program.
long long new_calls();

}  // namespace meniscus::testing
