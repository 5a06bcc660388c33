"""Readers of what other tools export, one file each."""
