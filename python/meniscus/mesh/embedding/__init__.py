"""Points embedded in meshes, and morphs of meshes."""
