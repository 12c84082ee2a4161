"""Contact: single pairs, and a plain reference of repulsion."""
