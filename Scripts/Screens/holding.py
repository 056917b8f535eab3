"""A server on loopback with responses that screenshots need: immediate, half, delayed or failing."""

import http.server
import threading


class Holding:
    """Serves files by name until its `with` statement ends. Responses to `held` paths are sent only then. Responses to
    `halved` paths are sent to two fifths at once, and completed only then. Unknown names get a 404."""

    def __init__(self, files):
        self.files = files
        self.held = lambda path: False
        self.halved = lambda path: False
        self.over = threading.Event()
        holding = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                holding.answer(self)

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 128

            def handle_error(self, *_):
                # Programs disconnect when their screenshot is done.
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        self.server.shutdown()

    def url(self, name):
        return f"http://127.0.0.1:{self.server.server_port}/{name}"

    def answer(self, request):
        path = request.path[1:]
        if self.held(path):
            self.over.wait()
        body = self.files.get(path.partition("?")[0])
        if body is None:
            request.send_error(404)
            return
        request.send_response(200)
        request.send_header("Content-Type", "image/jpeg")
        request.send_header("Content-Length", str(len(body)))
        request.end_headers()
        first = len(body) * 2 // 5 if self.halved(path) else len(body)
        request.wfile.write(body[:first])
        request.wfile.flush()
        if first < len(body):
            self.over.wait()
            request.wfile.write(body[first:])
