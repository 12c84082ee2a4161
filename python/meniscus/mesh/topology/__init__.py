"""Topology of meshes: the test for watertightness."""
