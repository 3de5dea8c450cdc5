# SPDX-License-Identifier: Apache-2.0
"""Sockets that a service manager passes: ripd serves them instead of the default address, and does not unlink them."""
import contextlib
import os
import re
import signal
import socket
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import managed  # noqa: E402
import world as w  # noqa: E402

GET = b"GET /healthz HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n"


def listening(address=("127.0.0.1", 0)):
    server = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
    server.bind(address)
    server.listen()
    return server


def status_of(address, host=b"localhost"):
    client = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
    with contextlib.closing(client):
        client.settimeout(w.PATIENCE_S)
        client.connect(address)
        client.sendall(GET % host)
        return int(client.makefile("rb").readline().split()[1])


def variables(count, **more):
    return {"LISTEN_FDS": str(count), "LISTEN_PID": "{pid}"} | more


def test_two_sockets_in_place_of_the_default(world):
    path = os.path.join(world.made, "http.socket")
    with listening() as inet, listening(path) as unix:
        port = inet.getsockname()[1]
        world.serve(environment=variables(2, LISTEN_FDNAMES="ripd.socket:quo\"te"), passed=(inet, unix), flags=())
        log = world.log_text()
        assert 'descriptor=3 name="ripd.socket" address=http://127.0.0.1:%d\n' % port in log, log
        assert 'descriptor=4 name="quo\\"te" address=unix:%s\n' % path in log, log
        assert re.findall(r"listening on (\S+)", log) == [f"http://127.0.0.1:{port}", f"unix:{path}"]
        assert world.get("/stalls")["returned"] == 0
        assert status_of(path, b"any.name") == 200
        assert status_of(("127.0.0.1", port), b"any.name") == 421
        for number in (3, 4):
            with open(f"/proc/{world.ripd.pid}/fdinfo/{number}", encoding="ascii") as file:
                assert int(re.search(r"flags:\s*(\d+)", file.read()).group(1), 8) & os.O_CLOEXEC
        world.ripd.send_signal(signal.SIGTERM)
        assert world.ripd.wait(timeout=w.PATIENCE_S) == 0
        assert os.path.exists(path)
        world.serve(environment=variables(2), passed=(inet, unix), flags=())  # no client was refused during the restart
        assert status_of(path) == 200


def test_in_addition_to_listen_flags(world):
    with listening() as inet:
        port = inet.getsockname()[1]
        world.serve(environment=variables(1), passed=(inet,), flags=("--listen", f"unix:{world.made}/own.socket"))
        assert 'name="unknown"' in world.log_text()
        assert status_of(("127.0.0.1", port)) == 200
        assert status_of(f"{world.made}/own.socket") == 200
        world.stop()
        assert not os.path.exists(f"{world.made}/own.socket")


def test_passed_to_another_process(world):
    with listening() as inet:
        world.serve(environment=variables(1, LISTEN_PID="1"), passed=(inet,))
        assert world.port != inet.getsockname()[1]
        assert "passed by" not in world.log_text()


def diagnosing():
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4)  # NETLINK_SOCK_DIAG


def test_a_netlink_socket(world):
    """ripd recognizes the netlink socket by its type, at any position. A second netlink socket is closed."""
    with listening() as inet, diagnosing() as diag, diagnosing() as more:
        world.serve(environment=variables(3, LISTEN_FDNAMES="sock-diag:http:sock-diag"), passed=(diag, inet, more),
                    flags=())
        log = world.log_text()
        assert 'descriptor=3 name="sock-diag" address=netlink:sock-diag\n' in log, log
        assert 'descriptor=4 name="http" address=http://127.0.0.1:%d\n' % inet.getsockname()[1] in log, log
        assert log.count("passed by") == 2 and log.count("listening on") == 1, log
        assert status_of(inet.getsockname()) == 200
        kinds = [os.readlink(f"/proc/{world.ripd.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{world.ripd.pid}/fd")]
        assert f"socket:[{os.fstat(more.fileno()).st_ino}]" not in kinds
        world.stop()


def test_a_netlink_socket_alone(world):
    """If only the netlink socket is passed, ripd listens on its default address."""
    with diagnosing() as diag:
        world.launch(environment=variables(1), passed=(diag,), flags=())
        world.wait_for(lambda: "127.0.0.1:7470" in world.log_text())
        world.stop()


def assert_refused(world, line, environment, passed):
    world.launch(environment=environment, passed=passed, flags=())
    assert world.ripd.wait(timeout=w.PATIENCE_S) == 1
    log = world.log_text()
    assert log.splitlines()[-1] == "ripd: error: " + line, log


def test_not_a_listening_stream_socket(world):
    expected = "; expected a stream socket that listens"
    with listening() as inet, open("/dev/null", "rb") as file, socket.socket(type=socket.SOCK_DGRAM) as datagrams, \
            socket.socket() as silent:
        assert_refused(world, "LISTEN_FDS: descriptor 4 (b) is not a socket" + expected,
                       variables(2, LISTEN_FDNAMES="a:b"), (inet, file))
        assert_refused(world, "LISTEN_FDS: descriptor 3 (unknown) is not a stream socket" + expected, variables(1),
                       (datagrams,))
        assert_refused(world, "LISTEN_FDS: descriptor 3 (unknown) does not listen" + expected, variables(1), (silent,))
        assert_refused(world, "LISTEN_FDS: descriptor 4 (unknown) is not open" + expected, variables(2), (inet,))
        assert_refused(world, "LISTEN_FDS is not a number, expected one up to 16", variables("two"), (inet,))
        assert_refused(world, "LISTEN_FDS: more than 16 sockets were passed", variables(17), (inet,))
    assert world.manager.listen() == []


w.run([test_a_netlink_socket, test_a_netlink_socket_alone, test_two_sockets_in_place_of_the_default,
       test_in_addition_to_listen_flags, test_passed_to_another_process, test_not_a_listening_stream_socket],
      make_world=managed.Managed)
