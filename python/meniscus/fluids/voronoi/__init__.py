"""Liquids on Voronoi cells whose pressure samples follow a tracked surface."""
