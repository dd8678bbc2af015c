"""Who is who: voiceprints, people learned out of clips, the same person across recordings."""
