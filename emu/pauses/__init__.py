"""Recorders of the machine's pauses: processors taken away, steal, throttling; intervals of time.

A recorder on each processor writes down when the machine took the processor away (`recorder`,
`pauses`). From the frames that crossed a link follows how much of its time was lost for good
(`emu.measurement.link_work`). What was lost, could have been used, and is explained by a recorded
pause is cut out of a burst's time (`emu.measurement.burst_clock`); nothing else is.
"""
