"""What the model families share: BERT's OpenVINO graph, its compilation and cache, sessions, windows, devices, precision."""
