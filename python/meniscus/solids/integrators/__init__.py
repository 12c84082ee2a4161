"""Time integration of deformable bodies."""
