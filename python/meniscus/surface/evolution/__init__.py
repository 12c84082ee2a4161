"""Motion of level sets in a flow, along their normals and by their curvature."""
