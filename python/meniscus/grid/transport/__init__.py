"""Transport of fields and points along velocities, and extrapolation of fields."""
