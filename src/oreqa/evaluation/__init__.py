"""Metrics, significance, tasks and reports."""
