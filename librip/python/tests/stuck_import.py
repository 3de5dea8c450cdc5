# SPDX-License-Identifier: Apache-2.0
"""A module that sends a request while it is imported, and gets no reply."""
import socket

silent = socket.create_server(("127.0.0.1", 0))
socket.create_connection(silent.getsockname()).recv(1)
