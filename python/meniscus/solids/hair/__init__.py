"""Hair: grooms, and bodies of many strands."""
