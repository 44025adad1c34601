"""A calibration in the browser: `plsdof app`."""
