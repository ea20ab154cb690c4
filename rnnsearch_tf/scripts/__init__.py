"""The console scripts: the only place with flags."""
