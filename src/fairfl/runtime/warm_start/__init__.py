"""Warm starts: a job takes over a process that has torch imported, instead of importing it for two seconds.

`python -P -S client.py MODULE ...` does what `python -P -m MODULE ...` does. `launch` starts the server of a workflow;
`server` forks a ready process per job.
"""
