"""The yardstick: square matrix products, as fast as torch multiplies here. One "round" is one product.

gemm-mm is torch's BLAS, gemm-onednn is oneDNN: on some CPUs the one is twice as fast as the other.
"""

import torch
from torch import Tensor

from benchmarks.worker import Competitor, Job, Unfit
from benchmarks.workloads import GEMM_SIDE


def onednn(left: Tensor, right: Tensor) -> Tensor:
    """left @ right by oneDNN, into a new tensor."""
    return torch.ops.mkldnn._linear_pointwise(left, right.mT, None, "none", [], "")


def onednn_fits(job: Job) -> bool:
    """Whether oneDNN multiplies here."""
    return job.device.type == "cpu" and torch.backends.mkldnn.is_available()


class Gemm(Competitor):
    def __init__(self, job: Job, by_onednn: bool) -> None:
        super().__init__(job)
        if by_onednn and not onednn_fits(job):
            raise Unfit("no oneDNN on this device")
        dtype = torch.bfloat16 if job.workload.precision == "bf16" else torch.float32
        n = GEMM_SIDE[job.device.type]
        self.a, self.b, self.c = (
            torch.randn(n, n, device=job.device, dtype=dtype) for _ in range(3)
        )
        self.by_onednn = by_onednn

    def step(self) -> None:
        if self.by_onednn:
            onednn(self.a, self.b)
        else:
            torch.mm(self.a, self.b, out=self.c)


def start(job: Job, competitor: str) -> Competitor:
    return Gemm(job, competitor.endswith("-onednn"))
