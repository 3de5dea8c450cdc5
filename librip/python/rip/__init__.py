# SPDX-License-Identifier: Apache-2.0
"""Shows which thread of a program is stuck, and where. The program reports to ripd.

Under `rip run -- python3 app.py` a program is traced without using this module. Each call that can block leaves a
breadcrumb with the script's file, line and function. Threads have their Python names, and locks their holders.

With this module a program can report more:

    import rip

    with rip.note("GET /checkout?id=7"):    # what the thread is doing: shown with a stall
        ...
    rip.snap()                              # the thread makes progress: for loops without calls that can block

A static tracepoint shows values to bpftrace, gdb and perf while the program runs:

    order = rip.Tracepoint("app", "order", int, str)
    order.fire(lambda: (order_id, customer.name))   # calls the function only while a tracer is attached

Without `rip run`, a program first makes a ring with rip.start(). Each thread is traced from its first use of this
module. It is stalled if it calls neither snap() nor idle() for longer than ripd's --stall-after.

No function raises because tracing failed. Without a ring the functions do nothing. Wrong arguments raise TypeError or
ValueError. After os.fork() the child is traced like its parent. Sub-interpreters cannot import this module.
"""
import contextvars as _contextvars
import functools as _functools
import inspect as _inspect
import os as _os
import sys as _sys
import typing as _typing

if "_rip" in _sys.modules:
    import _rip  # under `rip run`: put there by the preload library; it is not on sys.path
else:
    from . import _rip  # type: ignore[no-redef]

__all__ = ["Tracepoint", "deadline_ms", "idle", "name", "note", "snap", "start", "trace"]

_Function = _typing.TypeVar("_Function", bound=_typing.Callable[..., _typing.Any])
_Path = _typing.Union[str, bytes, "_os.PathLike[str]", "_os.PathLike[bytes]"]
Tracepoint = _rip.Tracepoint
_rip.leave_out(__file__)  # a thread's place is the caller of this module, not a line in it
_note: "_contextvars.ContextVar[_typing.Optional[str]]" = _contextvars.ContextVar("rip.note", default=None)


def start(file: _typing.Optional[_Path] = None, max_ids: int = 4096) -> bool:
    """Makes the process's ring, with room for max_ids threads and tasks at once.

    file: path of the ring, on tmpfs. The default is PROGRAM.PID in $RIP_DIR, else in /run/librip if that is writable,
    else in /dev/shm.

    Returns False if the ring cannot be made; the program then runs untraced. Under `rip run` the process has a ring
    already: this does nothing and returns True.
    """
    if file is None:
        program = _os.path.basename(_sys.argv[0] if _sys.argv else "") or "python"
        directory = _os.environ.get("RIP_DIR")
        if not directory:
            directory = "/run/librip" if _os.access("/run/librip", _os.W_OK | _os.X_OK) else "/dev/shm"
        file = _os.path.join(directory, f"{program}.{_os.getpid()}")
    return _rip.start(_os.fsencode(file), max_ids)


def snap() -> None:
    """Reports progress: increments the thread's counter and leaves a breadcrumb at the calling line."""
    _rip.snap()


class idle:
    """Declares that this thread waits for work, which is not a stall.

    The thread is idle until its next breadcrumb, or until the end of the with block.

    rip.idle()                  # right before the wait
    with rip.idle(): ...        # around the wait
    """

    __slots__ = ()

    def __init__(self) -> None:
        _rip.idle()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        _rip.snap()


class note:
    """Describes what this thread or task is doing. The first 127 bytes are shown with a stall. None removes the note.

    rip.note("GET /")           # until the next note
    with rip.note("GET /"): ... # until the end of the with block, which restores the previous note
    """

    __slots__ = ("_before",)

    def __init__(self, text: _typing.Optional[str]) -> None:
        self._before = _note.get()
        _rip.note(text)
        _note.set(text)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        _rip.note(self._before)
        _note.set(self._before)


def name(text: str) -> None:
    """Sets the name under which ripd shows this thread. The default is the name of the threading.Thread.

    The thread's name in Python does not change.
    """
    _rip.name(text)


def deadline_ms(milliseconds: int) -> None:
    """Sets how long this thread or task may make no progress before it is stalled. 0 restores ripd's --stall-after."""
    _rip.deadline_ms(milliseconds)


def trace(function: _Function) -> _Function:
    """Decorator: each call of the function leaves a breadcrumb at the function's first line."""
    code = _inspect.unwrap(function).__code__
    leave = _rip.entry(code)

    if _inspect.iscoroutinefunction(function):

        @_functools.wraps(function)
        async def traced(*arguments: _typing.Any, **keywords: _typing.Any) -> _typing.Any:
            leave()
            return await function(*arguments, **keywords)

    else:

        @_functools.wraps(function)
        def traced(*arguments: _typing.Any, **keywords: _typing.Any) -> _typing.Any:
            leave()
            return function(*arguments, **keywords)

    return _typing.cast(_Function, traced)
