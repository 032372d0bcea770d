"""Where the page of a run is."""

from urllib.parse import quote


def href(run_id: str) -> str:
    """Link from the report to the page of a run: 'pages/runs/x_cifar/fedavg/default/seed0.html'."""
    return quote(f"pages/runs/{run_id}.html")
