# SPDX-License-Identifier: Apache-2.0
"""A module that asks a server while it is imported, and gets no answer."""
import socket

silent = socket.create_server(("127.0.0.1", 0))
socket.create_connection(silent.getsockname()).recv(1)
