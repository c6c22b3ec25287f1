"""Weights of the scores and calibration, fitted on questions with answers."""
