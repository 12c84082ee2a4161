"""Particle level sets: level sets that marker particles correct."""
