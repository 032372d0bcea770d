"""python -P -S client.py [--log FILE] MODULE [ARGUMENT ...]: `python -P -m MODULE ...` in less time.

With --log its output goes into a new file, so that a job of a killed workflow cannot write into its successor's log.

If FAIRFL_START_SERVER names a server of the same interpreter, package and machine, the server forks a process that
runs the job with the arguments, environment, folder, input and output of this one, which passes on signals and the
exit code. Otherwise, whatever the reason, this process becomes `python -m MODULE`.
"""

# Only what costs nothing, so nothing of fairfl either, and this file is run by its path: `-m`, or `import socket,
# signal, json`, takes as long as the interpreter's own start.
import _signal  # type: ignore[import-not-found]  # typeshed has none
import _socket
import marshal
import os
import select
import sys

VARIABLE = "FAIRFL_START_SERVER"  # path of the server's socket
# Messages to the client: STARTED from the job before its first line of code, then its wait status in four bytes.
STARTED = b"+"


def identity() -> tuple:
    """Properties that a process has from its start and cannot change, beside variables: where they differ from the
    server's, that one cannot stand in. By the folder of the interpreter: without `site` (-S), which is a third of a
    client's time, it does not find out about a virtual environment.

    Raises OSError where there is no /proc.
    """
    # The mount namespace tells a container from its host.
    namespace = os.readlink("/proc/self/ns/mnt")
    return (
        sys.version,
        os.path.dirname(sys.executable),
        os.path.realpath(__file__),
        os.geteuid(),
        namespace,
    )


def output_into(log: str) -> None:
    """Let standard output and error go into a new file in the place of `log`."""
    try:
        if os.path.lexists(log):
            os.unlink(log)
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    except OSError as error:
        sys.exit(f"error: {log}: {error.strerror}")
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)


def plain(arguments: list[str]) -> None:
    """Become `python -P -m MODULE ...`. Does not return."""
    os.execv(sys.executable, [sys.executable, "-P", "-m", *arguments])


def start(arguments: list[str]) -> tuple[_socket.socket, int] | None:
    """The connection to the job that the server has started; None if the server does not exist or it refuses.

    The job waits before its first line of code until the number returned with it is closed.
    """
    try:
        # One message is one request: a packet is received whole or not at all.
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        connection.connect(os.environ[VARIABLE])
        mask = os.umask(0o077)
        os.umask(mask)
        gate, hold = os.pipe()
        request = marshal.dumps((identity(), arguments, dict(os.environ), os.getcwd(), mask))
        files = b"".join(number.to_bytes(4, sys.byteorder) for number in (0, 1, 2, gate))
        connection.sendmsg([request], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, files)])
        os.close(gate)
        return (connection, hold) if connection.recv(4) == STARTED else None
    except (KeyError, OSError):
        return None


def follow(connection: _socket.socket, hold: int) -> int:
    """Let the job begin and pass on signals until it ends; its wait status."""
    connection.setblocking(False)
    # The interpreter's own handler sends the signal's number: one written in Python would run only after the next
    # system call, which may be the one that waits for ever.
    _signal.set_wakeup_fd(connection.fileno())
    for number in (_signal.SIGHUP, _signal.SIGINT, _signal.SIGTERM):
        if _signal.getsignal(number) != _signal.SIG_IGN:
            _signal.signal(number, lambda *_: None)
    os.close(hold)
    ended = select.poll()
    ended.register(connection, select.POLLIN)
    ended.poll()
    try:
        status = connection.recv(4)
    except OSError:
        status = b""
    _signal.set_wakeup_fd(-1)
    if not status:
        sys.exit("error: the start server died and took this job along; run the same command again")
    return int.from_bytes(status, "big")


def main() -> None:
    arguments = sys.argv[1:]
    if arguments[:1] == ["--log"] and len(arguments) > 2:
        output_into(arguments[1])
        arguments = arguments[2:]
    if not arguments:
        sys.exit("usage: python client.py [--log FILE] MODULE [ARGUMENT ...]")
    # Until the job has started, a signal just ends this process, and the server drops the request.
    if _signal.getsignal(_signal.SIGINT) != _signal.SIG_IGN:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
    started = start(arguments)
    if started is None:
        return plain(arguments)
    code = os.waitstatus_to_exitcode(follow(*started))
    if code < 0:  # die as the job did
        if -code != _signal.SIGKILL:
            _signal.signal(-code, _signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


if __name__ == "__main__":
    main()
