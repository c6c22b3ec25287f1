"""Shared by the model families: BERT's OpenVINO graph, compilation, cache, sessions, token windows, devices, precision."""
