#include "CInflightCurl.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

// Grows the buffer, by doubling, to fit `more` further bytes. The caller has checked the limit.
static bool make_room(struct inflight_head *head, size_t more) {
    size_t wanted = head->length + more;
    if (wanted <= head->capacity) return true;
    size_t capacity = head->capacity ? head->capacity : 1024;
    while (capacity < wanted) capacity *= 2;
    char *text = realloc(head->text, capacity);
    if (!text) return false;
    head->text = text;
    head->capacity = capacity;
    return true;
}

bool inflight_head_add(struct inflight_head *head, const char *line, size_t length) {
    if (length > head->limit - head->length || !make_room(head, length)) {
        head->is_too_long = true;
        return head->ended(head->context);
    }
    if (length > 0 && (line[0] == ' ' || line[0] == '\t')) {
        // A folded field value: the line break counts as white space (RFC 9112 section 5.2).
        while (head->length > 0 && (head->text[head->length - 1] == '\n' || head->text[head->length - 1] == '\r'))
            head->length--;
    }
    memcpy(head->text + head->length, line, length);
    head->length += length;
    head->lines++;
    bool is_empty = (length == 1 && line[0] == '\n') || (length == 2 && line[0] == '\r' && line[1] == '\n');
    return is_empty && !head->is_complete ? head->ended(head->context) : true;
}

static size_t collect(char *bytes, size_t size, size_t count, void *context) {
    size_t length = size * count;
    return inflight_head_add(context, bytes, length) ? length : 0;
}

void inflight_easy_set_callbacks(
    CURL *easy, struct inflight_callbacks callbacks, void *context, void *close_context) {
    inflight_curl.easy_setopt(easy, CURLOPT_PRIVATE, context);
    inflight_curl.easy_setopt(easy, CURLOPT_HEADERFUNCTION, collect);
    inflight_curl.easy_setopt(easy, CURLOPT_HEADERDATA, callbacks.head);
    inflight_curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, callbacks.body);
    inflight_curl.easy_setopt(easy, CURLOPT_WRITEDATA, context);
    inflight_curl.easy_setopt(easy, CURLOPT_READFUNCTION, callbacks.upload);
    inflight_curl.easy_setopt(easy, CURLOPT_READDATA, context);
    inflight_curl.easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, callbacks.progress);
    inflight_curl.easy_setopt(easy, CURLOPT_XFERINFODATA, context);
    inflight_curl.easy_setopt(easy, CURLOPT_PREREQFUNCTION, callbacks.sends);
    inflight_curl.easy_setopt(easy, CURLOPT_PREREQDATA, context);
    inflight_curl.easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callbacks.open);
    inflight_curl.easy_setopt(easy, CURLOPT_OPENSOCKETDATA, context);
    inflight_curl.easy_setopt(easy, CURLOPT_CLOSESOCKETFUNCTION, callbacks.close);
    inflight_curl.easy_setopt(easy, CURLOPT_CLOSESOCKETDATA, close_context);
}

int inflight_wake_make(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void inflight_wake(int descriptor) {
    uint64_t one = 1;
    // Fails only if the counter is full, after 2^64 - 2 calls. The descriptor is then readable anyway.
    ssize_t written = write(descriptor, &one, sizeof one);
    (void)written;
}

int inflight_epoll_make(void) { return epoll_create1(EPOLL_CLOEXEC); }

int inflight_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t token) {
    struct epoll_event event;
    memset(&event, 0, sizeof event);
    event.events = events;
    event.data.u64 = token;
    return epoll_ctl(epoll, operation, descriptor, &event);
}

int inflight_epoll_wait(int epoll, struct inflight_event *events, int capacity, int timeout_milliseconds) {
    struct epoll_event ready[256];
    if (capacity > 256) capacity = 256;
    int count = epoll_wait(epoll, ready, capacity, timeout_milliseconds);
    for (int index = 0; index < count; index++) {
        events[index].token = ready[index].data.u64;
        events[index].events = ready[index].events;
    }
    return count < 0 ? 0 : count;
}

int inflight_ares_make(
    ares_channel *channel, const char *servers, ares_sock_state_cb sockets, void *context) {
    struct ares_options options;
    memset(&options, 0, sizeof options);
    options.sock_state_cb = sockets;
    options.sock_state_cb_data = context;
    int status = ares_init_options(channel, &options, ARES_OPT_SOCK_STATE_CB);
    if (status != ARES_SUCCESS || !servers) return status;
    status = ares_set_servers_ports_csv(*channel, servers);
    if (status != ARES_SUCCESS) {
        ares_destroy(*channel);
        *channel = NULL;
    }
    return status;
}

int inflight_ares_timeout(ares_channel channel) {
    struct timeval wanted;
    struct timeval *next = ares_timeout(channel, NULL, &wanted);
    if (!next) return -1;
    if (next->tv_sec > INT_MAX / 1000 - 1) return INT_MAX;
    return (int)(next->tv_sec * 1000 + (next->tv_usec + 999) / 1000);
}
