"""What a person runs: calibrate, plan, sweep, reproduce, report, and the command line."""
