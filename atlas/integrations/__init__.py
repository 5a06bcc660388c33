"""Doors for agent frameworks, one file each; a framework is imported by its own file alone."""
