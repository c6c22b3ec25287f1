"""A question encoder and a reader, fine-tuned together on what the encoder retrieves."""
