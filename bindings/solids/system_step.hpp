// A step of several bodies as one system, with what it refers to.
#pragma once

#include "solids/body_arrays.hpp"

#include "meniscus/solids/integrators/integrators.hpp"

namespace meniscus::bindings {

using SystemBodies = std::vector<std::shared_ptr<solids::DeformableBody>>;

inline std::vector<solids::BodyInStep> bodies_in_step(const SystemBodies& bodies, const py::list& motions) {
  require(!bodies.empty(), "a system has at least one body");
  require(bodies.size() == motions.size(), "there must be one motion per body, not ", motions.size(), " for ", bodies.size());
  std::vector<solids::BodyInStep> parts;
  for (std::size_t k = 0; k < bodies.size(); ++k) parts.push_back({bodies[k].get(), motion_of(motions[k])});
  return parts;
}

class SystemStep {
 public:
  SystemStep(SystemBodies bodies, py::list motions, double dt, Workspace& workspace)
      : bodies_(std::move(bodies)),
        motions_(std::move(motions)),
        parts_(bodies_in_step(bodies_, motions_)),
        step_(parts_, dt, workspace) {}

  solids::BodyStep& operator*() { return step_; }
  solids::BodyStep* operator->() { return &step_; }
  solids::ConstPoints in(const py::array& a, const char* name) const { return points_of(a, name, step_.size()); }
  solids::Points out(const py::array& a, const char* name) const { return writable_points(a, name, step_.size()); }

 private:
  SystemBodies bodies_;
  py::list motions_;
  std::vector<solids::BodyInStep> parts_;
  solids::BodyStep step_;
};

}  // namespace meniscus::bindings
