"""Checks that every force of bodies passes, and the cases for them."""
