"""Variational EM: samples ─expectation─▶ Moments ─maximization─▶ Parameters ─▶ next pass."""
