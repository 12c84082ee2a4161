// Communicators of ranks.
#include "bridge.hpp"

#include "meniscus/parallel/reductions.hpp"
#include "meniscus/parallel/transport/thread_transport.hpp"
#include "meniscus/parallel/transport/transport_communicator.hpp"

#include <algorithm>

namespace meniscus::bindings {
namespace {

using parallel::Communicator;

/// Collective: the bytes of all ranks.
py::list gather_bytes(Communicator& c, const py::bytes& own) {
  const auto text = static_cast<std::string>(own);
  const auto n = static_cast<std::size_t>(c.size());
  std::vector<std::string> all(n);
  interruptible([&] {
    std::vector<Index> sizes(n);
    const auto size = static_cast<Index>(text.size());
    c.gather(&size, sizeof size, sizes.data());
    const auto most = static_cast<std::size_t>(*std::max_element(sizes.begin(), sizes.end()));
    std::string padded = text;
    padded.resize(most);
    std::string together(most * n, ' ');
    c.gather(padded.data(), most, together.data());
    for (std::size_t r = 0; r < n; ++r) all[r] = together.substr(r * most, static_cast<std::size_t>(sizes[r]));
  });
  py::list result;
  for (const std::string& s : all) result.append(py::bytes(s));
  return result;
}

py::object agree(Communicator& c, const std::optional<std::string>& text) {
  const auto failure = interruptible([&] { return c.agree(text ? text->c_str() : nullptr); });
  if (!failure) return py::none();
  return py::make_tuple(failure->rank, failure->text);
}

Index sum_of(const std::array<Index, parallel::tags::count>& numbers, int first, int last) {
  Index sum = 0;
  for (int tag = first; tag <= last; ++tag) sum += numbers[static_cast<std::size_t>(tag)];
  return sum;
}

py::dict traffic(const Communicator& c) {
  const parallel::Traffic& t = c.traffic();
  py::dict result;
  const auto count = [&](const char* name, int first, int last) {
    result[name] = py::make_tuple(sum_of(t.messages, first, last), sum_of(t.bytes, first, last));
  };
  namespace tags = parallel::tags;
  count("halo", tags::halo, tags::boxes - 1);
  count("boxes", tags::boxes, tags::boxes);
  count("fields", tags::fields, tags::fields);
  count("particles", tags::particles, tags::particles);
  count("numbering", tags::numbering, tags::numbering);
  count("collection", tags::collection, tags::collection);
  count("gather", tags::gather, tags::gather);
  return result;
}

/// Seats for threads; the room lives as long as any of its communicators may be made.
class Room {
 public:
  explicit Room(int ranks) : room_(ranks) {}
  std::shared_ptr<Communicator> communicator(int rank) const {
    require(rank >= 0 && rank < room_.size(), "there is no rank ", rank, " among ", room_.size());
    return std::make_shared<parallel::TransportCommunicator>(parallel::thread_transport(), room_.seat(rank));
  }

 private:
  parallel::ThreadRoom room_;
};

}  // namespace

void bind_communicators(py::module_& m) {
  py::register_exception<parallel::RankFailure>(m, "RankError", PyExc_RuntimeError);
  py::class_<Communicator, std::shared_ptr<Communicator>>(m, "Communicator")
      .def_property_readonly("rank", &Communicator::rank)
      .def_property_readonly("size", &Communicator::size)
      .def_property_readonly("transport", &Communicator::transport)
      .def("gather_bytes", &gather_bytes, py::arg("own"))
      .def(
          "total", [](Communicator& c, Index count) { return interruptible([&] { return parallel::global_sum(c, count); }); },
          py::arg("count"))
      .def("agree", &agree, py::arg("text"))
      .def("traffic", &traffic)
      .def(
          "poison_ghosts",
          [](Communicator& c, bool on) {
            if (auto* t = dynamic_cast<parallel::TransportCommunicator*>(&c)) t->poison_ghosts(on);
          },
          py::arg("on"));
  py::class_<Room>(m, "ThreadRoom")
      .def(py::init<int>(), py::arg("ranks"))
      .def("communicator", &Room::communicator, py::arg("rank"));
  m.def("one_rank", [] { return parallel::single_block_communicator(); });
  m.def(
      "mpi_communicator",
      [](std::intptr_t table, std::intptr_t handle) -> std::shared_ptr<Communicator> {
        const auto& functions = *reinterpret_cast<const meniscus_transport*>(table);
        return interruptible([&] { return std::make_shared<parallel::TransportCommunicator>(functions, handle); });
      },
      py::arg("table"), py::arg("handle"));
}

}  // namespace meniscus::bindings
