"""Object stores for tests: emulators behind a proxy that records requests, and can fail them."""

import dataclasses
import http.client
import http.server
import logging
import os
import pathlib
import socket
import subprocess
import tempfile
import threading
import urllib.parse
import uuid

from support import Server

DROP = "drop"
"""Ends the connection before the request reaches the store."""
LOSE = "lose"
"""Ends the connection after the store has performed the request, without its answer."""


@dataclasses.dataclass
class Request:
    method: str
    path: str
    query: dict
    headers: dict
    body: bytes

    @property
    def key(self):
        """The key of the object, without the bucket."""
        return self.path.lstrip("/").partition("/")[2]

    @property
    def operation(self):
        """S3's name of the request."""
        query = self.query.keys()
        if self.method == "GET":
            return "ListUploads" if "uploads" in query else "List" if "list-type" in query else "Get"
        if self.method == "POST":
            return "Create" if "uploads" in query else "Complete" if "uploadId" in query else "DeleteObjects"
        if self.method == "DELETE":
            return "Abort" if "uploadId" in query else "Delete"
        return "UploadPart" if "partNumber" in query else self.method.title()


def error(status, code, message="no reason"):
    """An answer of S3 in place of the store's."""
    body = f'<?xml version="1.0"?><Error><Code>{code}</Code><Message>{message}</Message></Error>'
    return status, {"Content-Type": "application/xml"}, body.encode()


class _Proxy(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def forward(self):
        size = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(size)
        if len(body) < size:
            # Like a store, keeps nothing of a client that ended while it sent.
            self.close_connection = True
            return
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = b"".join(iter(self.read_chunk, b""))
        path, _, query = self.path.partition("?")
        request = Request(self.command, urllib.parse.unquote(path),
                          dict(urllib.parse.parse_qsl(query, keep_blank_values=True)), dict(self.headers), body)
        store = self.server.store
        store.requests.append(request)
        answer = store.fault(request)
        if answer == DROP:
            self.close_connection = True
            return
        if not isinstance(answer, tuple):
            store.before(request)
            lost, answer = answer == LOSE, store.perform(self.command, self.path, self.headers, request.body)
            if lost:
                self.close_connection = True
                return
        status, headers, content = answer
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in ("content-length", "transfer-encoding", "connection", "server", "date"):
                self.send_header(name, value)
        is_head = self.command == "HEAD"
        self.send_header("Content-Length", headers.get("Content-Length", "0") if is_head else str(len(content)))
        self.end_headers()
        if not is_head:
            self.wfile.write(content)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do_PATCH = forward

    def read_chunk(self):
        size = int(self.rfile.readline().split(b";")[0], 16)
        chunk = self.rfile.read(size)
        self.rfile.readline()
        return chunk

    def log_message(self, *_):
        pass


class Store:
    """Serves until the `with` statement ends. A test replaces `fault` and `before`."""

    def __init__(self):
        self.requests = []
        self.fault = self.before = lambda _: None
        self.proxy = Server(("127.0.0.1", 0), _Proxy)
        self.proxy.store = self
        self.url = f"http://127.0.0.1:{self.proxy.server_port}"

    def perform(self, method, path, headers, body):
        """Sends a request to the emulator itself."""
        headers = {name: value for name, value in headers.items() if name != "Transfer-Encoding"}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, body, headers | {"Content-Length": str(len(body))})
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, dict(response.getheaders()), content

    def __enter__(self):
        self.serve(self.proxy)
        return self

    def serve(self, server):
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()

    def __exit__(self, *_):
        self.proxy.shutdown()
        self.proxy.server_close()


class S3(Store):
    """moto, in one thread: it checks the condition of a write, and then writes."""

    def __enter__(self):
        from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import make_server

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        self.server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=False)
        self.port = self.server.server_port
        self.serve(self.server)
        return super().__enter__()

    def __exit__(self, *_):
        super().__exit__()
        self.server.shutdown()
        self.server.server_close()

    def make_bucket(self):
        import s3fs

        s3fs.S3FileSystem(**self.options).call_s3("create_bucket", Bucket="bucket")

    @property
    def options(self):
        """Storage options without the client's own retries, which only make the tests longer."""
        return {
            "key": "an-access-key", "secret": "a-secret-key", "endpoint_url": self.url,
            "client_kwargs": {"region_name": "us-east-1"}, "config_kwargs": {"retries": {"max_attempts": 0}},
        }


class GCS(Store):
    """gcp-storage-emulator, without `ifGenerationMatch`: the proxy implements its value 0, one write at a time."""

    @property
    def options(self):
        return {"endpoint_url": self.url, "token": "anon"}

    def __enter__(self):
        # gcsfs asks for the kind of a bucket by gRPC, which the emulator lacks.
        os.environ["GCSFS_EXPERIMENTAL_ZB_HNS_SUPPORT"] = "false"
        from gcp_storage_emulator.server import create_server

        logging.getLogger("gcp_storage_emulator").setLevel(logging.CRITICAL)
        self.server = create_server("127.0.0.1", 0, in_memory=True, default_bucket="bucket")
        self.server.start()
        self.port = self.server._api._httpd.server_port
        self.writing = threading.Lock()
        return super().__enter__()

    def __exit__(self, *_):
        super().__exit__()
        self.server.stop()

    def perform(self, method, path, headers, body):
        query = dict(urllib.parse.parse_qsl(path.partition("?")[2]))
        if query.get("ifGenerationMatch") != "0":
            return super().perform(method, path, headers, body)
        name = query.get("name") or body.partition(b'"name": "')[2].partition(b'"')[0].decode()
        with self.writing:
            found = super().perform("GET", f"/storage/v1/b/bucket/o/{urllib.parse.quote(name, '')}", {}, b"")
            if found[0] == 200:
                return 412, {"Content-Type": "application/json"}, b'{"error": {"code": 412, "message": "exists"}}'
            return super().perform(method, path, headers, body)


_CEPH = """
[global]
fsid = {fsid}
mon host = v1:127.0.0.1:{mon}
public addr = 127.0.0.1
ms bind ipv6 = false
auth cluster required = none
auth service required = none
auth client required = none
admin socket =
run dir = {folder}
log file = {folder}/$name.log
mon data = {folder}/mon
mon data avail crit = 0
mon data avail warn = 0
mon allow pool size one = true
osd data = {folder}/osd
osd objectstore = memstore
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 1
osd pool default pgp num = 1
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:{rgw}
"""


class RadosGW(S3):
    """Debian's radosgw over a monitor and one OSD in memory."""

    def __enter__(self):
        self.processes, self.scratch = [], tempfile.TemporaryDirectory()
        folder = self.scratch.name
        ports = [free_port() for _ in range(2)]
        self.port, monitor = ports
        fsid = str(uuid.uuid4())
        pathlib.Path(f"{folder}/ceph.conf").write_text(
            _CEPH.format(fsid=fsid, folder=folder, mon=monitor, rgw=self.port))
        for name in ("mon", "osd"):
            os.mkdir(f"{folder}/{name}")
        self.run("monmaptool", "--create", "--fsid", fsid, "--addv", "a", f"[v1:127.0.0.1:{monitor}]",
                 f"{folder}/monmap")
        self.run("ceph-mon", "--mkfs", "-i", "a", "--monmap", f"{folder}/monmap")
        self.daemon("ceph-mon", "-f", "-i", "a")
        # These wait until the daemon before can serve them.
        self.run("ceph", "osd", "create")
        self.run("ceph-osd", "--mkfs", "-i", "0", "--osd-uuid", str(uuid.uuid4()))
        self.daemon("ceph-osd", "-f", "-i", "0")
        self.run("radosgw-admin", "user", "create", "--uid=test", "--display-name=test",
                 f"--access-key={self.options['key']}", f"--secret-key={self.options['secret']}")
        gateway = self.daemon("radosgw", "-d", "-n", "client.rgw", stderr=subprocess.PIPE)
        # It registers at the manager when it serves.
        for line in gateway.stderr:
            if b"service_daemon_register" in line:
                break
        threading.Thread(target=gateway.stderr.read, daemon=True).start()
        return Store.__enter__(self)

    def __exit__(self, *_):
        Store.__exit__(self)
        for process in reversed(self.processes):
            process.kill()
            process.wait()
        self.scratch.cleanup()

    def run(self, *command):
        subprocess.run([*command, "-c", f"{self.scratch.name}/ceph.conf"], check=True, capture_output=True, timeout=120)

    def daemon(self, *command, stderr=subprocess.DEVNULL):
        process = subprocess.Popen(
            [*command, "-c", f"{self.scratch.name}/ceph.conf"], stdout=subprocess.DEVNULL, stderr=stderr)
        self.processes.append(process)
        return process


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]
