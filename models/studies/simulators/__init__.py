"""Simulators used only by studies and tests."""
