"""Bodies of a world that take steps of their own: what they have in common, their kinds, and the world with them."""
