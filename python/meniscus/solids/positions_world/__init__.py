"""Worlds in real time: bodies of position based dynamics, rigid bodies and reduced bodies that touch."""
