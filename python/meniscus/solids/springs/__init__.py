"""Springs of edges, altitudes and bending angles, and soft bindings."""
