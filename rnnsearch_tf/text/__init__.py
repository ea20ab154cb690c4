"""Text to tokens, tokens to ids, and back."""
