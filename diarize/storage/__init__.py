"""Files on this machine: written whole or not at all, cached by content, weights with checksums."""
