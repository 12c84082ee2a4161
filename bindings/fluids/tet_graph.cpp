// Graphs of tetrahedral meshes with water: ranks, ways out, ways through a solid.
#include "fluids/tet_graph.hpp"

#include "surface/called_function.hpp"
#include "surface/tet_stars.hpp"

#include "meniscus/fluids/tet_vof/tet_ranks.hpp"
#include "meniscus/fluids/tet_vof/thin_walls.hpp"
#include "meniscus/fluids/tet_vof/way_out.hpp"

namespace meniscus::bindings {

void bind_tet_graph(py::module_& m) {
  py::native_enum<fluids::WayOut>(m, "WayOut", "enum.Enum")
      .value("room", fluids::WayOut::room)
      .value("higher_rank", fluids::WayOut::higher_rank)
      .value("boundary", fluids::WayOut::boundary)
      .value("none", fluids::WayOut::none)
      .finalize();
  py::class_<GraphHandle>(m, "TetGraph")
      .def(py::init([](const TetStars& stars) {
             return interruptible([&] { return GraphHandle{stars.tets, std::make_shared<const TetGraph>(stars.stars)}; });
           }),
           py::arg("stars"))
      .def_property_readonly("neighbours", [](const GraphHandle& g) { return read_only(g.graph->neighbours(), py::cast(g)); })
      .def_property_readonly("nbytes", [](const GraphHandle& g) { return g.graph->nbytes(); })
      .def(
          "ranks",
          [](const GraphHandle& g, const py::array& kinds, bool open_boundary, const py::array& ranks, const py::array& closed) {
            const auto k = values_of<const std::uint8_t>(kinds, "kinds", g.graph->size());
            const auto r = values_of<std::int32_t>(ranks, "ranks", g.graph->size(), true);
            const auto c = values_of<std::uint8_t>(closed, "closed", g.graph->size(), true);
            return interruptible([&] {
              fluids::TetRanks counter(*g.graph);
              const std::span<const fluids::TetKind> kind(reinterpret_cast<const fluids::TetKind*>(k.data()), k.size());
              counter.count(kind, open_boundary, r);
              return std::pair(counter.highest(), counter.find_closed(kind, open_boundary, c));
            });
          },
          py::arg("kinds"), py::arg("open_boundary"), py::arg("ranks"), py::arg("closed"))
      .def(
          "ways_through_solid",
          [](const GraphHandle& g, const py::array& positions, const py::array& phi, const py::array& cut,
             const py::array& inside, const py::object& distance) {
            const fluids::SolidInTets solid{*g.graph, vectors_of(positions, "positions", g.graph->vertices()),
                                            values_of<const double>(phi, "phi", g.graph->vertices()),
                                            values_of<const bool>(cut, "cut", g.graph->size()),
                                            values_of<const bool>(inside, "inside", g.graph->size())};
            const auto f = called_distance(distance, "the signed distance of the solid");
            fluids::WaysThroughSolid ways = interruptible([&] { return fluids::ways_through_solid(solid, f); });
            const auto rows = [](const std::vector<mesh::Point>& points) {
              py::array_t<double> a({static_cast<py::ssize_t>(points.size()), py::ssize_t{3}});
              for (std::size_t i = 0; i < points.size(); ++i)
                std::copy_n(points[i].data(), 3, a.mutable_data(static_cast<py::ssize_t>(i)));
              return a;
            };
            const py::array_t<double> lengths(static_cast<py::ssize_t>(ways.lengths.size()), ways.lengths.data());
            return py::make_tuple(taken(std::move(ways.tets)), rows(ways.first), rows(ways.last), lengths);
          },
          py::arg("positions"), py::arg("phi"), py::arg("cut"), py::arg("inside"), py::arg("distance"))
      .def(
          "way_out",
          [](const GraphHandle& g, const py::array& ranks, std::int32_t tet, bool open_boundary) {
            const auto r = values_of<const std::int32_t>(ranks, "ranks", g.graph->size());
            require(tet >= 0 && tet < g.graph->size(), "tet must be in [0, ", g.graph->size(), "), but is ", tet);
            fluids::OutwardSearch search;
            const fluids::WayOut way = search.run(*g.graph, r, tet, open_boundary, true, [](std::int32_t) { return false; });
            return py::make_tuple(way, taken(std::vector(search.found().begin(), search.found().end())));
          },
          py::arg("ranks"), py::arg("tet"), py::arg("open_boundary"));
}

}  // namespace meniscus::bindings
