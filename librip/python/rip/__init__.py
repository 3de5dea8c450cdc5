# SPDX-License-Identifier: Apache-2.0
"""Which of my threads is stuck, and where: what a program says of itself to ripd.

Under `rip run -- python3 app.py` a program is traced without a line of this: each call that can block leaves a
breadcrumb with the script's file, line and function, threads have their Python names, and locks their holders. With

    import rip

    with rip.note("GET /checkout?id=7"):    # what it is doing: shown with a stall
        ...
    rip.snap()                              # I move: for loops that make no call

it can say more. A static tracepoint is for bpftrace, gdb and perf, which find its values while it runs:

    order = rip.Tracepoint("app", "order", int, str)
    order.fire(lambda: (order_id, customer.name))   # calls the function only while somebody looks

A program that runs by itself makes a ring first, with rip.start(); its threads are in it from their
first use of this module, and what they do not say by snap() or idle() is a stall after ripd's --stall-after.

Nothing here raises because tracing failed: without a ring all of it does nothing. Wrong arguments raise TypeError and
ValueError. After os.fork() the child is traced as its parent is. Sub-interpreters cannot import this module.
"""
import contextvars as _contextvars
import functools as _functools
import inspect as _inspect
import os as _os
import sys as _sys
import typing as _typing

if "_rip" in _sys.modules:
    import _rip  # under `rip run`: the preload library has put it there, and into no path
else:
    from . import _rip  # type: ignore[no-redef]

__all__ = ["Tracepoint", "deadline_ms", "idle", "name", "note", "snap", "start", "trace"]

_Function = _typing.TypeVar("_Function", bound=_typing.Callable[..., _typing.Any])
_Path = _typing.Union[str, bytes, "_os.PathLike[str]", "_os.PathLike[bytes]"]
Tracepoint = _rip.Tracepoint
_rip.leave_out(__file__)  # who calls this is the place, not what stands here
_note: "_contextvars.ContextVar[_typing.Optional[str]]" = _contextvars.ContextVar("rip.note", default=None)


def start(file: _typing.Optional[_Path] = None, max_ids: int = 4096) -> bool:
    """Makes the process's ring, on tmpfs, with room for max_ids threads and tasks at once.

    file: by default PROGRAM.PID in $RIP_DIR, else in /run/librip if that can be written, else in /dev/shm.
    False if there can be none; the program runs untraced then. Under `rip run` there is one, and this does nothing.
    """
    if file is None:
        program = _os.path.basename(_sys.argv[0] if _sys.argv else "") or "python"
        directory = _os.environ.get("RIP_DIR")
        if not directory:
            directory = "/run/librip" if _os.access("/run/librip", _os.W_OK | _os.X_OK) else "/dev/shm"
        file = _os.path.join(directory, f"{program}.{_os.getpid()}")
    return _rip.start(_os.fsencode(file), max_ids)


def snap() -> None:
    """Leaves a breadcrumb at the line that calls this, and one more on the thread's count: it moves."""
    _rip.snap()


class idle:
    """From here on this thread waits for work, which is no stall: until its next breadcrumb, or the end of `with`.

    rip.idle()                  # right before the wait
    with rip.idle(): ...        # around it
    """

    __slots__ = ()

    def __init__(self) -> None:
        _rip.idle()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exception: object) -> None:
        _rip.snap()


class note:
    """What this thread or task is doing, for people: 127 bytes of it are shown with a stall. None takes it back.

    rip.note("GET /")           # until the next note
    with rip.note("GET /"): ... # until the end of `with`; then what was noted before
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
    """Names this thread in lists, without renaming it in Python. The name of a threading.Thread is known already."""
    _rip.name(text)


def deadline_ms(milliseconds: int) -> None:
    """This thread or task is stalled when it has not moved for so long, whatever ripd's --stall-after is. 0 = that."""
    _rip.deadline_ms(milliseconds)


def trace(function: _Function) -> _Function:
    """Decorator: each call of the function leaves a breadcrumb at its first line."""
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
