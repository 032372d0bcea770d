"""The yardstick: square matrix products, as fast as torch multiplies here. One "round" is one product."""

import torch

from benchmarks.worker import Competitor, Job
from benchmarks.workloads import GEMM_SIDE


class Gemm(Competitor):
    def __init__(self, job: Job) -> None:
        super().__init__(job)
        dtype = torch.bfloat16 if job.workload.precision == "bf16" else torch.float32
        n = GEMM_SIDE[job.device.type]
        self.a, self.b, self.c = (torch.randn(n, n, device=job.device, dtype=dtype) for _ in range(3))

    def step(self) -> None:
        torch.mm(self.a, self.b, out=self.c)


def start(job: Job, competitor: str) -> Competitor:
    return Gemm(job)
