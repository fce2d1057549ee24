"""What a newcomer waits for."""
