"""Scenes of liquids on Voronoi cells."""
