"""Topology of meshes."""
