"""What is measured, as JSON lines with ratios within one run. `python -m bench [NAME …]`, or `make bench`."""
