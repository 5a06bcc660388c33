"""Failures reported against other tools, each as a test that Atlas does better; named after its case."""
