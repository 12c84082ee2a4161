"""Continuous collision detection of moving elements: an exact method, and two classical ones for comparison."""
