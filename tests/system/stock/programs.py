# SPDX-License-Identifier: Apache-2.0
"""Stock programs that wait for work: what starts each, in a folder of its own. LARGER are those of .ci/run besides."""
import os
import shutil
import textwrap

PIPE, TERMINAL = "pipe", "terminal"  # what standard input is; nobody writes to it


class Program:
    def __init__(self, name, *command, stdin=PIPE, files=None, needs=None, prepare=None):
        self.name, self.command, self.stdin, self.files, self.prepare = name, command, stdin, files or {}, prepare
        self.needs = needs or command[0]

    def is_there(self):
        return shutil.which(self.needs, path=PATH) is not None


PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
PYTHON = "/usr/bin/python3"


def python(name, text):
    return Program(name, PYTHON, "program.py", files={"program.py": textwrap.dedent(text)})


SAMPLE = [
    Program("redis", "redis-server", "--port", "0", "--unixsocket", "socket", "--save", ""),
    Program("memcached", "memcached", "-s", "socket", "-u", "nobody"),
    Program("nginx", "nginx", "-p", ".", "-c", "nginx.conf", "-e", "errors",
            files={"nginx.conf": "daemon off; worker_processes 2; error_log errors; pid pid; events {}\n"
                                 "http { access_log off; server { listen unix:socket; } }\n"}),
    Program("filters", "bash", "-c", "cat | tee copy | grep --line-buffered x | sed -u s/x/y/ | cat"),
    Program("dash", "dash", "-i", stdin=TERMINAL),
    Program("bash", "bash", "--norc", "-i", stdin=TERMINAL),
    Program("redis-cli", "redis-cli", "-s", "nothing", stdin=TERMINAL),
    Program("perl", "perl", "-e", "my $line = <STDIN>;"),
    Program("python", PYTHON, "-i", stdin=TERMINAL),
    python("python-pool", """
        import multiprocessing
        if __name__ == "__main__":
            pool = multiprocessing.Pool(3)
            pool.map(abs, range(10))
            input()
        """),
    python("python-queue", """
        import multiprocessing
        if __name__ == "__main__":
            queue = multiprocessing.Queue()
            process = multiprocessing.Process(target=queue.get)
            process.start()
            process.join()
        """),
    python("python-executor", """
        import concurrent.futures
        if __name__ == "__main__":
            with concurrent.futures.ProcessPoolExecutor(3) as executor:
                print(list(executor.map(abs, range(10))))
                input()
        """),
    python("keep-alive", """
        import http.client, http.server, threading
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever).start()
        client = http.client.HTTPConnection(*server.server_address)
        client.request("GET", "/")
        client.getresponse().read()
        input()
        """),
]

LARGER = [
    Program("less", "less", "text", stdin=TERMINAL, files={"text": "line\n" * 1000}),
    Program("tclsh", "tclsh", stdin=TERMINAL),
    Program("sqlite", "sqlite3", stdin=TERMINAL),
    Program("gdb", "gdb", "-q", stdin=TERMINAL),
    Program("irb", "irb", stdin=TERMINAL),
    Program("node", "node", "-e", "require('http').createServer().listen('socket')"),
    Program("node-workers", "node", "-e", "const {Worker} = require('worker_threads'); for (let i = 0; i < 3; i++) "
            "new Worker(\"require('worker_threads').parentPort.on('message', () => 0)\", {eval: true})"),
    Program("java", "java", "Server.java", files={"Server.java": textwrap.dedent("""
        import com.sun.net.httpserver.HttpServer;
        class Server {
            public static void main(String[] args) throws Exception {
                HttpServer server = HttpServer.create(new java.net.InetSocketAddress("127.0.0.1", 0), 0);
                server.setExecutor(java.util.concurrent.Executors.newFixedThreadPool(4));
                server.start();
            }
        }
        """)}),
    Program("dnsmasq", "dnsmasq", "--keep-in-foreground", "--port", "0", "--conf-file=/dev/null", "--pid-file=pid"),
    Program("varnish", "varnishd", "-F", "-n", "{folder}/work", "-a", "{folder}/socket", "-b", "none"),
    Program("socat", "socat", "UNIX-LISTEN:socket,fork", "EXEC:cat"),
    Program("mosquitto", "mosquitto", "-p", "0"),
    Program("beanstalkd", "beanstalkd", "-l", "unix:{folder}/socket"),
    Program("apache", "apache2", "-X", "-d", ".", "-f", "{folder}/apache.conf", files={
        "apache.conf": "ServerName a\nListen 127.0.0.1:0\nPidFile pid\nErrorLog errors\n"
                       "LoadModule mpm_event_module /usr/lib/apache2/modules/mod_mpm_event.so\n"
                       "LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\n"}),
    Program("erlang", "erl", "-noinput"),
    Program("unbound", "unbound", "-d", "-p", "-c", "unbound.conf", files={
        "unbound.conf": 'server: \n chroot: ""\n username: ""\n port: 5399\n interface: 127.0.0.1\n'}),
    Program("haproxy", "haproxy", "-db", "-f", "haproxy.cfg", files={
        "haproxy.cfg": "defaults\n mode http\n timeout client 9s\n timeout server 9s\n timeout connect 9s\n"
                       "frontend f\n bind unix@socket\n"}),
]
