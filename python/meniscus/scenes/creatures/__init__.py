"""Animated creatures and scripted motions of surfaces: input for scenes in which something alive moves through a fluid."""

from meniscus.scenes.creatures.creature import CREATURES, Creature, creature
from meniscus.scenes.creatures.motions import MOTIONS, Motion, motion

__all__ = ["CREATURES", "MOTIONS", "Creature", "Motion", "creature", "motion"]
