"""Parts of several commands: flags, text in and out."""
