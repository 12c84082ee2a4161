#include "bridge.hpp"

#include "meniscus/core/cancellation.hpp"

namespace meniscus::bindings {

void run_interruptible(void (*call)(void*), void* argument) {
  try {
    const WithoutGil no_gil;
    const InterruptScope scope([&] { return no_gil.must_stop() || with_gil([] { return PyErr_CheckSignals() != 0; }); });
    call(argument);
  } catch (const Interrupted&) {
    if (PyErr_Occurred()) throw py::error_already_set();
    throw;
  }
}

}  // namespace meniscus::bindings
