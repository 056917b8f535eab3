// Peer: fetches many small files into memory with libcurl's multi interface on one thread.
//
//     http_multi BASE COUNT AT_ONCE epoll|poll plain|same [CA_FILE]
//
// Reuses easy handles and stores each body in one malloc'd block. With a CA file it uses HTTP/2 over one connection.
// `plain` sends libcurl's own header fields (`Accept: */*`). `same` sends the header fields that Inflight sends and
// decodes content codings, so that both put the same bytes on the wire.
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

struct body {
    char *bytes;
    size_t count, capacity;
};

static CURLM *multi;
static const char *base;
static long count, started, ended, failed;
static struct body *bodies;

static double seconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void check(int ok, const char *what) {
    if (ok) return;
    fprintf(stderr, "http_multi: %s failed\n", what);
    exit(1);
}

static size_t take(char *bytes, size_t size, size_t number, void *context) {
    struct body *body = context;
    size_t length = size * number;
    if (body->count + length > body->capacity) {
        body->capacity = body->count + length > 16384 ? (body->count + length) * 2 : 16384;
        body->bytes = realloc(body->bytes, body->capacity);
        check(body->bytes != NULL, "malloc");
    }
    memcpy(body->bytes + body->count, bytes, length);
    body->count += length;
    return length;
}

static void start_next(CURL *easy) {
    char url[512];
    if (started == count) return;
    snprintf(url, sizeof url, "%s/%05ld.jpg", base, started);
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, &bodies[started]);
    started++;
    check(curl_multi_add_handle(multi, easy) == CURLM_OK, "curl_multi_add_handle");
}

static void take_endings(void) {
    CURLMsg *message;
    int left;
    while ((message = curl_multi_info_read(multi, &left)) != NULL) {
        if (message->msg != CURLMSG_DONE) continue;
        CURL *easy = message->easy_handle;
        long status = 0;
        curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
        if (message->data.result != CURLE_OK || status != 200) failed++;
        ended++;
        curl_multi_remove_handle(multi, easy);
        start_next(easy);
    }
}

static void run_with_poll(void) {
    int running;
    while (ended < count) {
        check(curl_multi_perform(multi, &running) == CURLM_OK, "curl_multi_perform");
        take_endings();
        if (ended < count) check(curl_multi_poll(multi, NULL, 0, 1000, NULL) == CURLM_OK, "curl_multi_poll");
    }
}

static int events;
static long timeout = -1;

static int watch(CURL *easy, curl_socket_t socket, int what, void *context, void *known) {
    (void)easy, (void)context;
    struct epoll_event event = {.data.fd = socket};
    if (what & CURL_POLL_IN && what != CURL_POLL_REMOVE) event.events |= EPOLLIN;
    if (what & CURL_POLL_OUT && what != CURL_POLL_REMOVE) event.events |= EPOLLOUT;
    int change = what == CURL_POLL_REMOVE ? EPOLL_CTL_DEL : known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;
    epoll_ctl(events, change, socket, &event);
    if (change == EPOLL_CTL_ADD) curl_multi_assign(multi, socket, &events);
    return 0;
}

static int set_timer(CURLM *of, long milliseconds, void *context) {
    (void)of, (void)context;
    timeout = milliseconds;
    return 0;
}

static void run_with_epoll(void) {
    int running;
    struct epoll_event ready[64];
    while (ended < count) {
        if (timeout == 0) {
            timeout = -1;
            curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
            take_endings();
            continue;
        }
        int number = epoll_wait(events, ready, 64, timeout < 0 ? 1000 : (int)timeout);
        if (number == 0) {
            timeout = -1;
            curl_multi_socket_action(multi, CURL_SOCKET_TIMEOUT, 0, &running);
        }
        for (int index = 0; index < number; index++) {
            int what = (ready[index].events & EPOLLIN ? CURL_CSELECT_IN : 0)
                | (ready[index].events & EPOLLOUT ? CURL_CSELECT_OUT : 0)
                | (ready[index].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);
            curl_multi_socket_action(multi, ready[index].data.fd, what, &running);
        }
        take_endings();
    }
}

int main(int argc, char **argv) {
    if (argc < 6) {
        fprintf(stderr, "usage: http_multi BASE COUNT AT_ONCE epoll|poll plain|same [CA_FILE]\n");
        return 64;
    }
    base = argv[1];
    count = atol(argv[2]);
    long at_once = atol(argv[3]);
    int with_epoll = strcmp(argv[4], "epoll") == 0;
    int with_fields = strcmp(argv[5], "same") == 0;
    const char *ca_file = argc > 6 ? argv[6] : NULL;

    curl_global_init(CURL_GLOBAL_DEFAULT);
    multi = curl_multi_init();
    bodies = calloc((size_t)count, sizeof *bodies);
    check(multi != NULL && bodies != NULL, "setting up");
    curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, at_once);
    curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, ca_file ? 1L : at_once);
    curl_multi_setopt(multi, CURLMOPT_MAX_CONCURRENT_STREAMS, at_once);
    if (with_epoll) {
        events = epoll_create1(EPOLL_CLOEXEC);
        curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, watch);
        curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, set_timer);
    }

    struct curl_slist *fields = NULL;
    fields = curl_slist_append(fields, "Accept: image/*,*/*;q=0.8");
    fields = curl_slist_append(fields, "Accept-Encoding: deflate, gzip, br, zstd");
    fields = curl_slist_append(fields, "User-Agent: Inflight/0.1.0");
    check(fields != NULL, "curl_slist_append");

    double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
    for (long index = 0; index < at_once && index < count; index++) {
        CURL *easy = curl_easy_init();
        check(easy != NULL, "curl_easy_init");
        curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
        curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
        curl_easy_setopt(easy, CURLOPT_PROXY, "");
        if (with_fields) {
            curl_easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
            curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fields);
        }
        if (ca_file) {
            curl_easy_setopt(easy, CURLOPT_CAINFO, ca_file);
            curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
            curl_easy_setopt(easy, CURLOPT_PIPEWAIT, 1L);
        }
        start_next(easy);
    }
    if (with_epoll) run_with_epoll();
    else run_with_poll();
    wall = seconds(CLOCK_MONOTONIC) - wall;
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;

    size_t bytes = 0;
    for (long index = 0; index < count; index++) bytes += bodies[index].count;
    if (failed) fprintf(stderr, "http_multi: %ld of %ld failed\n", failed, count);
    printf("loads=%ld bytes=%zu seconds=%.6f cpu=%.6f\n", count, bytes, wall, cpu);
    fflush(stdout);
    _exit(failed != 0);
}
