"""Procedural flows, emitters, and a step of inviscid flow."""
