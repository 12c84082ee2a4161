/// Parts of tetrahedra below a plane, and planes that cut off a given part.
///
/// Source: closed forms by splitting the part into tetrahedra whose volumes are products of ratios in [0, 1]; Lee 2018,
/// section 3.3.1 (a fraction of a tetrahedron below a linear level set).
#pragma once

#include "meniscus/mesh/tet_mesh.hpp"

namespace meniscus::mesh {

/// Fraction of a tetrahedron in which the linear function with these values at the corners is <= 0, in [0, 1]; no subtraction of
/// near-equal numbers other than the values themselves, so that small fractions have a small relative error. It does not depend
/// on the order of the values, and that of -phi is 1 minus it up to rounding, unless all are 0: then both are 1.
double fraction_below(const std::array<double, 4>& phi);

/// The level c with fraction_below(heights - c) = fraction, up to rounding of the heights: an error of c by d is one of the
/// fraction by at most 3 d / (largest - smallest height). Between the smallest (fraction <= 0) and the largest height (fraction
/// >= 1).
double offset_for_fraction(const std::array<double, 4>& heights, double fraction);

/// Volume of the part of a tetrahedron of any orientation in normal . x <= offset, m^3.
double volume_below(const std::array<Point, 4>& corners, const Point& normal, double offset);

/// out[i] = fraction_below(phi[i]), in parallel.
void fractions_below(std::span<const std::array<double, 4>> phi, std::span<double> out);

/// out[i] = offset_for_fraction(heights[i], fractions[i]), in parallel.
void plane_offsets(std::span<const std::array<double, 4>> heights, std::span<const double> fractions, std::span<double> out);

}  // namespace meniscus::mesh
