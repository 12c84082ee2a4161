"""Benchmarks of ranks, and the model that predicts them."""
