"""Where sentence pairs come from: parallel files and the built-in grammar."""
