"""The clock of link work: time in which the link could work, pauses of the machine taken out.

A recorder on each processor writes down when the machine took the processor away (`recorder`,
`pauses`). From the frames that crossed a link follows how much of its time was lost for good
(`link_work`). What was lost, could have been used, and is explained by a recorded pause is cut out
of a burst's time (`burst`); nothing else is.
"""
