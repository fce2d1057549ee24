"""The results folder: its files, their fields and schemas."""
