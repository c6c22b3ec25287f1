"""Inference sessions: OpenVINO on the CPU, torch on a GPU."""
