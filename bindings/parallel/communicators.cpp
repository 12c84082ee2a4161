// Communicators of ranks.
#include "bridge.hpp"

#include "meniscus/parallel/reductions.hpp"
#include "meniscus/parallel/transport/delayed_transport.hpp"
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

/// Collective: what the other ranks have for this one, by their numbers; `own` are the bytes for each of them.
py::list exchange_bytes(Communicator& c, const std::vector<py::bytes>& own) {
  const auto n = static_cast<std::size_t>(c.size());
  require(own.size() == n, "there must be something for each of ", n, " ranks, not for ", own.size());
  std::vector<std::string> out(own.begin(), own.end()), in(n);
  interruptible([&] {
    std::vector<Index> sizes(n), all(n * n);
    for (std::size_t r = 0; r < n; ++r) sizes[r] = static_cast<Index>(out[r].size());
    c.gather(sizes.data(), n * sizeof(Index), all.data());
    std::vector<parallel::Message> outgoing, incoming;
    const auto rank = static_cast<std::size_t>(c.rank());
    constexpr int tag = parallel::tags::collection;
    for (std::size_t r = 0; r < n; ++r) {
      in[r].resize(static_cast<std::size_t>(all[r * n + rank]));
      if (r == rank) continue;
      const auto add = [&](std::vector<parallel::Message>& messages, std::string& bytes) {
        if (!bytes.empty())
          messages.push_back({static_cast<int>(r), tag, reinterpret_cast<std::byte*>(bytes.data()), bytes.size()});
      };
      add(outgoing, out[r]);
      add(incoming, in[r]);
    }
    in[rank] = std::move(out[rank]);
    c.exchange(outgoing, incoming);
  });
  py::list result;
  for (const std::string& s : in) result.append(py::bytes(s));
  return result;
}

py::object agree(Communicator& c, const std::optional<std::string>& text) {
  const auto failure = interruptible([&] { return c.agree(text ? text->c_str() : nullptr); });
  if (!failure) return py::none();
  return py::make_tuple(failure->rank, failure->text);
}

Index sum_of(const std::array<Index, parallel::tags::count>& numbers, int first, int last) {
  Index sum = 0;
  for (int tag = first; tag <= last; ++tag) sum += numbers[tag];
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
  count("reductions", tags::reduction, tags::reduction);
  return result;
}

/// Collective: over a table, or where there is a delay, over one that adds it.
std::shared_ptr<Communicator> make_communicator(const meniscus_transport& table, std::intptr_t handle,
                                                const std::optional<parallel::LinkDelay>& delay) {
  return delay ? parallel::make_delayed_communicator(table, handle, *delay)
               : std::make_shared<parallel::TransportCommunicator>(table, handle);
}

/// Seats for threads; the room lives as long as any of its communicators may be made.
class Room {
 public:
  explicit Room(int ranks) : room_(ranks) {}
  std::shared_ptr<Communicator> communicator(int rank, const std::optional<parallel::LinkDelay>& delay) const {
    require(rank >= 0 && rank < room_.size(), "there is no rank ", rank, " among ", room_.size());
    return make_communicator(parallel::thread_transport(), room_.seat(rank), delay);
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
      .def("exchange_bytes", &exchange_bytes, py::arg("own"))
      .def(
          "total", [](Communicator& c, Index count) { return interruptible([&] { return parallel::global_sum(c, count); }); },
          py::arg("count"))
      .def("agree", &agree, py::arg("text"))
      .def("traffic", &traffic)
      .def_property_readonly("rounds", [](const Communicator& c) { return c.traffic().rounds; })
      .def("seconds", [](const Communicator& c) { return py::make_tuple(c.seconds().pack, c.seconds().wait); })
      .def(
          "count_processor_seconds",
          [](Communicator& c, bool on) { c.set_clock(on ? parallel::SecondsOf::processor : parallel::SecondsOf::wall); },
          py::arg("on"))
      .def(
          "poison_ghosts",
          [](Communicator& c, bool on) {
            if (auto* t = dynamic_cast<parallel::TransportCommunicator*>(&c)) t->poison_ghosts(on);
          },
          py::arg("on"));
  py::class_<parallel::LinkDelay>(m, "LinkDelay")
      .def(py::init([](double latency, double bandwidth) { return parallel::LinkDelay{latency, bandwidth}; }), py::arg("latency"),
           py::arg("bandwidth"));
  py::class_<Room>(m, "ThreadRoom")
      .def(py::init<int>(), py::arg("ranks"))
      .def("communicator", &Room::communicator, py::arg("rank"), py::arg("delay"));
  m.def("one_rank", [] { return parallel::single_block_communicator(); });
  m.def(
      "mpi_communicator",
      [](std::intptr_t table, std::intptr_t handle, const std::optional<parallel::LinkDelay>& delay) {
        const auto& functions = *reinterpret_cast<const meniscus_transport*>(table);
        return interruptible([&] { return make_communicator(functions, handle, delay); });
      },
      py::arg("table"), py::arg("handle"), py::arg("delay"));
}

}  // namespace meniscus::bindings
