"""Small generated files in the formats of the real ones, and a web server on this machine."""

import gzip
import http.server
import io
import struct
import tarfile
import threading
import zipfile

import numpy as np
import pytest


def idx_bytes(array):
    """The IDX form of a uint8 array, not compressed."""
    head = bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape)
    return head + array.astype(np.uint8).tobytes()


class Small:
    """Builders of small files; every one is deterministic."""

    idx = staticmethod(idx_bytes)

    @staticmethod
    def gz(data):
        return gzip.compress(data, mtime=0)

    @staticmethod
    def tar(path, members, mode="w:gz"):
        """Write a tar archive of (name, content)."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(path, mode) as archive:
            for name, content in members:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))

    @staticmethod
    def zip(path, members):
        """Write a zip archive of (name, content)."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in members:
                archive.writestr(name, content)

    @staticmethod
    def picture(pixels, kind, **options):
        """A PNG or JPEG file of uint8 [H, W] (grey) or [H, W, 3 or 4]."""
        image_module = pytest.importorskip("PIL.Image")
        out = io.BytesIO()
        image_module.fromarray(np.asarray(pixels, np.uint8)).save(out, kind, **options)
        return out.getvalue()

    @staticmethod
    def images(count, seed=0):
        return np.random.default_rng(seed).integers(0, 256, (count, 28, 28), dtype=np.uint8)

    def mnist(self, folder, train=40, test=20, dataset="mnist"):
        """Write the four MNIST files into ``folder/<dataset>``; returns {prefix: (images, labels)}."""
        made = {}
        for seed, (prefix, count) in enumerate((("train", train), ("t10k", test))):
            images, labels = self.images(count, seed), np.arange(count) % 10
            self.mnist_part(folder, prefix, images, labels, dataset)
            made[prefix] = images, labels
        return made

    def mnist_part(self, folder, prefix, images, labels, dataset="mnist"):
        (folder / dataset).mkdir(parents=True, exist_ok=True)
        for name, array in (("images-idx3", images), ("labels-idx1", labels)):
            path = folder / dataset / f"{prefix}-{name}-ubyte.gz"
            path.write_bytes(self.gz(idx_bytes(np.asarray(array))))


@pytest.fixture
def small():
    return Small()


class Server(http.server.ThreadingHTTPServer):
    """Serves ``self.answers``: path -> list of (status, headers, body), the last one repeats."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = {}
        self.requests = []

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append((self.path, self.headers))
        answers = self.server.answers.get(self.path, [(404, {}, b"no")])
        status, headers, body = answers.pop(0) if len(answers) > 1 else answers[0]
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server(monkeypatch):
    # A proxy from the environment must not see requests to this machine.
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield running
        running.shutdown()
        thread.join(5)
