"""Contact of deformable bodies with each other and with obstacles."""
