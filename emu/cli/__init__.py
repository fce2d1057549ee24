"""The command line of emu.run: options, checks of the machine, exit codes."""
