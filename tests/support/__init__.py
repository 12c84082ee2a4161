"""Helpers of the tests: builders of test data, and slow but plain references."""
