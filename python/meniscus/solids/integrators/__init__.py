"""Time integration of deformable bodies, stage by stage."""
