"""Water beside thin shells: its surface, markers, drops and velocity, each seen from its own side."""
