"""Point location in tetrahedral meshes."""
