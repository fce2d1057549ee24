"""A guest of the machine: a kernel of its own that runs the machine's programs in virtual time.

User-mode Linux (`kernel`) boots with the machine's files, read-only (`boot`), and works off orders
(`first_program`). Its processors take no time and its waits take none of the machine's.
"""
