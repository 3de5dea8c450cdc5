# SPDX-License-Identifier: Apache-2.0
"""Stock programs that wait for work, each with its command, in its own folder. LARGER are the additional programs of
.ci/run.

All are from Debian 12. Each of CALLERS waits for one descriptor, which no program there does alone.
"""
import glob
import os
import shutil
import textwrap

from world import BIN

PIPE, TERMINAL = "pipe", "terminal"  # standard input, to which nothing is written


class Program:
    def __init__(self, name, *command, stdin=PIPE, files=None, needs=None, prepare=None, serves=False):
        self.name, self.command, self.stdin, self.files, self.prepare = name, command, stdin, files or {}, prepare
        self.needs = needs or command[0]
        self.serves = serves  # HTTP at {port}: clients keep connections to it open

    def is_there(self):
        return shutil.which(self.needs, path=PATH) is not None


PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
PYTHON = "/usr/bin/python3"


def python(name, text, **options):
    return Program(name, PYTHON, "program.py", files={"program.py": textwrap.dedent(text)}, **options)


SAMPLE = [
    Program("redis", "redis-server", "--port", "0", "--unixsocket", "socket", "--save", ""),
    Program("memcached", "memcached", "-s", "socket", "-u", "nobody"),
    Program("nginx", "nginx", "-p", ".", "-c", "nginx.conf", "-e", "errors",
            files={"nginx.conf": "daemon off; worker_processes 2; error_log errors; pid pid; events {}\n"
                                 "http { access_log off; aio threads; server { listen unix:socket; } }\n"}),
    Program("filters", "bash", "-c", "cat | tee copy | grep --line-buffered x | sed -u s/x/y/ | logger --no-act"),
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
    python("python-threads", """
        import http.server
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()
        http.server.ThreadingHTTPServer(("127.0.0.1", {port}), Handler).serve_forever()
        """, serves=True),
    python("python-asyncio", """
        import asyncio
        async def serve(reader, writer):
            while await reader.readuntil(b"\\r\\n\\r\\n"):
                writer.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\n\\r\\n")
                await writer.drain()
        async def main():
            server = await asyncio.start_server(serve, "127.0.0.1", {port})
            await server.serve_forever()
        asyncio.run(main())
        """, serves=True),
]

HAPROXY = ("global\n nbthread 3\ndefaults\n mode http\n timeout client 9s\n timeout server 9s\n timeout connect 9s\n"
           "frontend f\n bind unix@{folder}/socket\n")
SELF_SCRAPE = ("scrape_configs:\n- job_name: own\n  scrape_interval: 1s\n  static_configs:\n"
               "  - targets: [127.0.0.1:{port}]\n")
MARIADB = "--no-defaults --user=root --skip-networking --socket={folder}/socket --datadir={folder}/data"
AS_NOBODY = "setpriv --reuid=nobody --regid=nogroup --clear-groups"
WSGI = "def application(environment, start):\n    start('200 OK', [])\n    return [b'']\n"
RAILS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../e2e/ruby/rails.ru")
SSHD = ("Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/key\nAuthorizedKeysFile {folder}/key.pub\n"
        "PidFile none\nUsePAM no\nStrictModes no\n")
SSH = ("ssh -F none -p {port} -i {folder}/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null "
       "-o BatchMode=yes 127.0.0.1 ")
CHRONY = ("server 127.0.0.1 port 9\nport 0\ncmdport 0\nbindcmdaddress /\npidfile {folder}/pid\n"
          "driftfile {folder}/drift\n")
POSTGRES = max(glob.glob("/usr/lib/postgresql/*/bin"), default="/nowhere")


def until(command):
    """Returns shell code that waits for a command to succeed. If the server does not start, the program fails early."""
    return f"for i in $(seq 300); do ({command}) >/dev/null 2>&1 && break; sleep 0.2; done; "


def apache(model, name=None, more=""):
    return Program("apache-" + (name or model), "apache2", "-DFOREGROUND", "-d", ".", "-f", "{folder}/conf", files={
        "conf": more +
                "ServerName a\nListen 127.0.0.1:{port}\nPidFile pid\nErrorLog errors\nDefaultRuntimeDir {folder}\n"
                "User nobody\nGroup nogroup\n"
                f"LoadModule mpm_{model}_module /usr/lib/apache2/modules/mod_mpm_{model}.so\n"
                "LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so\n"})


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
    Program("chrony", "chronyd", "-x", "-d", "-F", "1", "-u", "nobody", "-f", "conf", files={"conf": CHRONY}),
    Program("faketime", "faketime", "2020-01-01 00:00:00", "cat"),
    Program("socat", "socat", "UNIX-LISTEN:socket,fork", "EXEC:cat"),
    Program("mosquitto", "mosquitto", "-c", "conf", files={"conf": "listener 0 {folder}/socket\n"}),
    Program("beanstalkd", "beanstalkd", "-l", "unix:{folder}/socket"),
    Program("gearmand", "gearmand", "--port=0", "--listen=127.0.0.1", "--log-file=log", "--threads=3"),
    apache("event"),
    apache("worker"),
    apache("prefork"),
    Program("lighttpd", "lighttpd", "-D", "-f", "conf", files={
        "conf": 'server.document-root = "/var/empty"\nserver.bind = "{folder}/socket"\n'}),
    Program("squid", "squid", "-N", "-f", "conf", files={
        "conf": "http_port 127.0.0.1:{port}\npid_filename none\ncache_log {folder}/log\naccess_log none\n"
                "coredump_dir {folder}\nshutdown_lifetime 0 seconds\nnetdb_filename none\n"}),
    Program("stunnel", "stunnel4", "conf", files={
        "conf": "foreground = yes\npid =\n[echo]\nclient = yes\naccept = 127.0.0.1:0\nconnect = 127.0.0.1:9\n"}),
    Program("haproxy", "haproxy", "-db", "-f", "conf", files={"conf": HAPROXY}),
    Program("haproxy-master", "haproxy", "-W", "-db", "-f", "conf", files={"conf": HAPROXY}),
    Program("unbound", "unbound", "-d", "-p", "-c", "conf", files={
        "conf": 'server:\n chroot: ""\n username: ""\n use-syslog: no\n port: {port}\n interface: 127.0.0.1\n'
                ' num-threads: 3\nremote-control:\n control-enable: no\n'}),
    Program("named", "named", "-g", "-n", "3", "-p", "{port}", "-c", "conf", files={
        "conf": 'options { directory "{folder}"; listen-on { 127.0.0.1; }; listen-on-v6 { none; }; pid-file none;\n'
                ' session-keyfile none; recursion no; };\ncontrols { };\n'}),
    Program("slapd", "slapd", "-d", "0", "-h", "ldapi://{encoded}%2Fsocket", "-f", "conf", files={
        "conf": "include /etc/ldap/schema/core.schema\npidfile {folder}/pid\ndatabase ldif\n"
                "suffix dc=a\ndirectory {folder}\n"}),
    Program("rsyslog", "rsyslogd", "-n", "-i", "NONE", "-f", "conf", files={
        "conf": 'module(load="imuxsock" SysSock.Use="off")\ninput(type="imuxsock" Socket="{folder}/socket")\n'
                '*.* action(type="omfile" file="{folder}/log" queue.type="linkedList")\n'}),
    Program("transmission", "transmission-daemon", "-f", "-g", "{folder}", "-p", "{port}", "-P", "{other_port}",
            "--no-portmap"),
    Program("uwsgi", "uwsgi_python3", "--socket", "socket", "--master", "--processes", "3", "--threads", "2",
            "--wsgi-file", "app.py", files={"app.py": WSGI}),
    Program("uwsgi-plain", "uwsgi_python3", "--socket", "socket", "--processes", "3", "--thunder-lock",
            "--wsgi-file", "app.py", files={"app.py": WSGI}),
    Program("php-fpm", "php-fpm8.2", "-F", "-R", "-y", "conf", files={
        "conf": "[global]\nerror_log = {folder}/log\n[a]\nuser = nobody\nlisten = {folder}/socket\npm = static\n"
                "pm.max_children = 3\n"}),
    # Each has a client at its prompt, and one thread or process of the server for this client.
    Program("mariadb", "sh", "-c", f"mariadbd {MARIADB} --pid-file={{folder}}/pid --innodb-buffer-pool-size=16M & "
            + until("mariadb-admin --no-defaults --socket={folder}/socket ping")
            + "exec mariadb --no-defaults --socket={folder}/socket", stdin=TERMINAL, needs="mariadbd",
            prepare=("mariadb-install-db --no-defaults --user=root --datadir={folder}/data "
                     "--auth-root-authentication-method=normal")),
    Program("postgres", "sh", "-c",
            AS_NOBODY + " {postgres}/postgres -D {folder}/data -k {folder} -c listen_addresses= & "
            + until("psql -h {folder} -U nobody postgres -c ''") + "exec psql -h {folder} -U nobody postgres",
            stdin=TERMINAL, needs=POSTGRES + "/postgres",
            prepare=f"chown nobody {{folder}} && {AS_NOBODY} {{postgres}}/initdb -A trust -D {{folder}}/data"),
    Program("sshd", "sh", "-c",
            "$(command -v sshd) -D -e -f {folder}/conf & " + until(SSH + "true") + f"exec {SSH} cat",
            needs="sshd", files={"conf": SSHD},
            prepare="mkdir -p /run/sshd && ssh-keygen -q -t ed25519 -N '' -f {folder}/key"),
    # A connection that a program inherits, with a client that sends nothing.
    Program("inetd", "bash", "-c", "socat TCP-LISTEN:{port},bind=127.0.0.1,fork EXEC:cat,nofork & "
            + until("exec 3<>/dev/tcp/127.0.0.1/{port}") + "exec 3<>/dev/tcp/127.0.0.1/{port}; read line",
            needs="socat"),
    # Go makes its own system calls, so none of its threads announces a call.
    Program("prometheus", "prometheus", "--config.file=conf", "--storage.tsdb.path=data",
            "--web.listen-address=127.0.0.1:{port}", files={"conf": SELF_SCRAPE}),
    Program("node-exporter", "prometheus-node-exporter", "--web.listen-address=127.0.0.1:{port}"),
    Program("erlang", "erl", "-noinput"),
    Program("puma", "puma", "-b", "unix://{folder}/socket", "-t", "3:3", "app.ru", files={
        "app.ru": "run lambda { |_| [200, {}, []] }\n"}),
    Program("rails", "env", "SILENT=9", "DATABASE={folder}/shop.sqlite3", "puma", "-b", "tcp://127.0.0.1:{port}",
            "-t", "3:5", RAILS, needs="rails", serves=True),
    Program("ruby-threads", "ruby", "-e", "q = Queue.new; Array.new(3) { Thread.new { q.pop } }; "
            "gets"),
    Program("jshell", "jshell", stdin=TERMINAL),
    # Workers that take turns with a file lock.
    apache("prefork", "flock", more="Listen 127.0.0.1:{other_port}\nMutex flock:{folder} default\n"),
    apache("prefork", "fcntl", more="Listen 127.0.0.1:{other_port}\nMutex fcntl:{folder} default\n"),
    Program("saslauthd", "saslauthd", "-d", "-a", "sasldb", "-n", "3", "-m", "{folder}"),
    Program("net-server", "perl", "-MNet::Server::PreFork", "-e", "Net::Server::PreFork->run(port => "
            "['127.0.0.1:{port}', '127.0.0.1:{other_port}'], lock_file => 'lock', user => $<, group => 0 + $()",
            needs="net-server"),
    Program("gunicorn", "gunicorn", "-k", "gthread", "--threads", "3", "-w", "2", "-b", "127.0.0.1:{port}",
            "app:application", files={"app.py": WSGI}, serves=True),
    Program("twistd", "twistd3", "-n", "--pidfile", "pid", "web", "--listen", "tcp:{port}:interface=127.0.0.1",
            "--path", ".", serves=True),
    Program("knot", "knotd", "-c", "conf", files={
        "conf": "server:\n  rundir: {folder}\n  listen: 127.0.0.1@{port}\ndatabase:\n  storage: {folder}\n"}),
    Program("kamailio", "kamailio", "-DD", "-E", "-f", "conf", "-l", "udp:127.0.0.1:{port}", "-n", "2", "-Y", ".",
            files={"conf": "request_route { exit; }\n"}),
    Program("tmux", "tmux", "-S", "socket", "-f", "/nowhere", "new-session", "cat", stdin=TERMINAL),
    Program("xvfb", "Xvfb", "-displayfd", "1", "-nolisten", "tcp"),
]

CALLERS = [Program("caller-" + kind, f"{BIN}/caller", kind)
           for kind in ("eventfd", "timerfd", "signalfd", "inotify", "netlink", "datagram", "pair")]
