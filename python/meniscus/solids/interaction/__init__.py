"""Interaction with a world: handles, attachments, fields of force, pose targets, bounded work and logs of what was done."""
