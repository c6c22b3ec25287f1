"""Published training objectives: pure functions on tensors, one file each."""
