"""The node: receives Deliveries, owns their execution on this machine, and reports what it saw.

The runner is started by path and imports its parts through this package, so importing it must import nothing else.
"""
