#pragma once

#if !__has_include(<curl/curl.h>)
#error "libcurl 7.84 or later is missing: install the Debian package libcurl4-openssl-dev"
#endif
#if !__has_include(<ares.h>)
#error "c-ares is missing: install the Debian package libc-ares-dev"
#endif
#if !__has_include(<idn2.h>)
#error "libidn2 is missing: install the Debian package libidn2-dev"
#endif

#include <ares.h>
#include <curl/curl.h>
#include <idn2.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

/// Loads libcurl, once, and initialises it. Returns NULL, or why it cannot be used. No other function of libcurl may be
/// called before.
///
/// Programs need libcurl to be built, but not to start: with the 22 libraries that only it needs, it would take a third
/// of the time in which a command starts.
const char *_Nullable inflight_curl_load(void);

// The functions of libcurl that are called, without `curl_`.
#define INFLIGHT_CURL_FUNCTIONS(FUNCTION) \
    FUNCTION(easy_cleanup) \
    FUNCTION(easy_getinfo) \
    FUNCTION(easy_init) \
    FUNCTION(easy_pause) \
    FUNCTION(easy_setopt) \
    FUNCTION(easy_strerror) \
    FUNCTION(global_init) \
    FUNCTION(multi_add_handle) \
    FUNCTION(multi_cleanup) \
    FUNCTION(multi_info_read) \
    FUNCTION(multi_init) \
    FUNCTION(multi_remove_handle) \
    FUNCTION(multi_setopt) \
    FUNCTION(multi_socket_action) \
    FUNCTION(share_cleanup) \
    FUNCTION(share_init) \
    FUNCTION(share_setopt) \
    FUNCTION(slist_append) \
    FUNCTION(slist_free_all) \
    FUNCTION(version_info)

/// libcurl's functions, once it is loaded.
struct inflight_curl {
#define INFLIGHT_DECLARE(name) __typeof__(curl_##name) *_Nonnull name;
    INFLIGHT_CURL_FUNCTIONS(INFLIGHT_DECLARE)
#undef INFLIGHT_DECLARE
};
extern struct inflight_curl inflight_curl;

// Wrappers of these functions. Swift cannot call variadic ones, so there is one for each type of argument.

static inline CURL *_Nullable inflight_easy_make(void) { return inflight_curl.easy_init(); }

static inline void inflight_easy_free(CURL *_Nonnull easy) { inflight_curl.easy_cleanup(easy); }

static inline CURLcode inflight_easy_pause(CURL *_Nonnull easy, int directions) {
    return inflight_curl.easy_pause(easy, directions);
}

static inline const char *_Nonnull inflight_easy_strerror(CURLcode code) { return inflight_curl.easy_strerror(code); }

static inline CURLcode inflight_easy_set_long(CURL *_Nonnull easy, CURLoption option, long value) {
    return inflight_curl.easy_setopt(easy, option, value);
}

static inline CURLcode inflight_easy_set_string(CURL *_Nonnull easy, CURLoption option, const char *_Nullable value) {
    return inflight_curl.easy_setopt(easy, option, value);
}

static inline CURLcode inflight_easy_set_pointer(CURL *_Nonnull easy, CURLoption option, void *_Nullable value) {
    return inflight_curl.easy_setopt(easy, option, value);
}

static inline CURLcode inflight_easy_set_list(
    CURL *_Nonnull easy, CURLoption option, struct curl_slist *_Nullable value) {
    return inflight_curl.easy_setopt(easy, option, value);
}

static inline CURLcode inflight_easy_set_size(CURL *_Nonnull easy, CURLoption option, curl_off_t value) {
    return inflight_curl.easy_setopt(easy, option, value);
}

typedef size_t (*inflight_data_callback)(
    char *_Nullable bytes, size_t size, size_t count, void *_Nullable context);
typedef int (*inflight_progress_callback)(
    void *_Nullable context, curl_off_t download_total, curl_off_t downloaded, curl_off_t upload_total,
    curl_off_t uploaded);
typedef int (*inflight_sends_callback)(
    void *_Nullable context, char *_Nullable remote_ip, char *_Nullable local_ip, int remote_port, int local_port);
typedef curl_socket_t (*inflight_open_callback)(
    void *_Nullable context, curlsocktype purpose, struct curl_sockaddr *_Nullable address);
typedef int (*inflight_close_callback)(void *_Nullable context, curl_socket_t descriptor);

/// The lines of a head, collected in C so that a head costs one call into Swift instead of one for each line.
struct inflight_head {
    char *_Nullable text;
    size_t length;
    size_t capacity;
    /// The maximum number of bytes to collect. A line beyond it sets `is_too_long` and calls `ended`.
    size_t limit;
    /// The number of lines received, in all heads of the exchange.
    size_t lines;
    /// Set once the final head is complete. Lines after it are trailer fields, which are collected until the end.
    bool is_complete;
    bool is_too_long;
    /// Called after the empty line that ends a head. Returns false to stop the transfer.
    bool (*_Nonnull ended)(void *_Nullable context);
    void *_Nullable context;
};

/// Adds a line of a head, including its line end. Returns false if the transfer must stop.
bool inflight_head_add(struct inflight_head *_Nonnull head, const char *_Nullable line, size_t length);

/// The callbacks of an easy handle. Lines of heads are collected in `head`. `close` is called with a context that
/// outlives the handle, all others with `context`.
struct inflight_callbacks {
    struct inflight_head *_Nonnull head;
    inflight_data_callback _Nonnull body;
    inflight_data_callback _Nonnull upload;
    inflight_progress_callback _Nonnull progress;
    inflight_sends_callback _Nonnull sends;
    inflight_open_callback _Nonnull open;
    inflight_close_callback _Nonnull close;
};

void inflight_easy_set_callbacks(
    CURL *_Nonnull easy, struct inflight_callbacks callbacks, void *_Nonnull context, void *_Nonnull close_context);

static inline void *_Nullable inflight_easy_private(CURL *_Nonnull easy) {
    char *context = NULL;
    inflight_curl.easy_getinfo(easy, CURLINFO_PRIVATE, &context);
    return context;
}

/// Returns the number of bytes of the body received so far, before content decoding.
static inline curl_off_t inflight_easy_downloaded(CURL *_Nonnull easy) {
    curl_off_t size = 0;
    inflight_curl.easy_getinfo(easy, CURLINFO_SIZE_DOWNLOAD_T, &size);
    return size;
}

/// Returns the microseconds from the start of the transfer to `point`, or 0 if it has not reached that point.
static inline int64_t inflight_easy_time(CURL *_Nonnull easy, CURLINFO point) {
    curl_off_t time = 0;
    inflight_curl.easy_getinfo(easy, point, &time);
    return time;
}

static inline struct curl_slist *_Nullable inflight_list_append(
    struct curl_slist *_Nullable list, const char *_Nonnull text) {
    return inflight_curl.slist_append(list, text);
}

static inline void inflight_list_free(struct curl_slist *_Nullable list) { inflight_curl.slist_free_all(list); }

static inline CURLM *_Nullable inflight_multi_make(void) { return inflight_curl.multi_init(); }

static inline void inflight_multi_free(CURLM *_Nonnull multi) { inflight_curl.multi_cleanup(multi); }

static inline CURLMcode inflight_multi_add(CURLM *_Nonnull multi, CURL *_Nonnull easy) {
    return inflight_curl.multi_add_handle(multi, easy);
}

static inline CURLMcode inflight_multi_remove(CURLM *_Nonnull multi, CURL *_Nonnull easy) {
    return inflight_curl.multi_remove_handle(multi, easy);
}

static inline CURLMcode inflight_multi_act(CURLM *_Nonnull multi, curl_socket_t descriptor, int events) {
    int running = 0;
    return inflight_curl.multi_socket_action(multi, descriptor, events, &running);
}

static inline CURLMcode inflight_multi_set_long(CURLM *_Nonnull multi, CURLMoption option, long value) {
    return inflight_curl.multi_setopt(multi, option, value);
}

typedef int (*inflight_socket_callback)(
    CURL *_Nullable easy, curl_socket_t descriptor, int what, void *_Nullable context, void *_Nullable socket_context);
typedef int (*inflight_timer_callback)(CURLM *_Nullable multi, long milliseconds, void *_Nullable context);

static inline void inflight_multi_set_callbacks(
    CURLM *_Nonnull multi, inflight_socket_callback _Nonnull socket, inflight_timer_callback _Nonnull timer,
    void *_Nonnull context) {
    inflight_curl.multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, socket);
    inflight_curl.multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
    inflight_curl.multi_setopt(multi, CURLMOPT_TIMERFUNCTION, timer);
    inflight_curl.multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

/// Returns the next transfer that has ended, or NULL if there is none.
static inline CURL *_Nullable inflight_multi_next_done(CURLM *_Nonnull multi, CURLcode *_Nonnull result) {
    int left = 0;
    CURLMsg *message;
    while ((message = inflight_curl.multi_info_read(multi, &left))) {
        if (message->msg != CURLMSG_DONE) continue;
        *result = message->data.result;
        return message->easy_handle;
    }
    return NULL;
}

static inline const curl_version_info_data *_Nullable inflight_version(void) {
    return inflight_curl.version_info(CURLVERSION_NOW);
}

static inline void inflight_share_free(CURLSH *_Nonnull share) { inflight_curl.share_cleanup(share); }

/// Creates a share object, through which easy handles share TLS sessions. Returns NULL if there is no memory.
static inline CURLSH *_Nullable inflight_share_make(void) {
    CURLSH *share = inflight_curl.share_init();
    if (share) inflight_curl.share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_SSL_SESSION);
    return share;
}

// Unlike `struct epoll_event`, which is packed on some architectures, this structure never is.
struct inflight_event {
    uint64_t token;
    uint32_t events;
};

/// Creates a non-blocking eventfd. Returns -1 on failure.
int inflight_wake_make(void);
/// Wakes the loop that waits for `descriptor`.
void inflight_wake(int descriptor);

int inflight_epoll_make(void);
int inflight_epoll_control(int epoll, int operation, int descriptor, uint32_t events, uint64_t token);
/// Waits for events, and returns how many were stored: at most `capacity`, and at most 256. Returns 0 after the
/// timeout, a signal, or an error.
int inflight_epoll_wait(
    int epoll, struct inflight_event *_Nonnull events, int capacity, int timeout_milliseconds);

/// Creates a c-ares channel. `servers` is a comma-separated list of DNS servers, or NULL for the system's servers.
int inflight_ares_make(
    ares_channel _Nullable *_Nonnull channel, const char *_Nullable servers,
    ares_sock_state_cb _Nonnull sockets, void *_Nonnull context);

typedef void (*inflight_ares_callback)(
    void *_Nullable context, int status, int timeouts, struct ares_addrinfo *_Nullable result);

/// Looks up the IPv4 and IPv6 addresses of a name, sorted as in RFC 6724.
static inline void inflight_ares_look_up(
    ares_channel _Nonnull channel, const char *_Nonnull name, inflight_ares_callback _Nonnull callback,
    void *_Nullable context) {
    struct ares_addrinfo_hints hints = {0};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    ares_getaddrinfo(channel, name, NULL, &hints, callback, context);
}

/// Returns the milliseconds until the channel must process a timeout, or -1 if no query is pending.
int inflight_ares_timeout(ares_channel _Nonnull channel);

/// Returns 1 if a name is a public suffix, 0 if it is none, and -1 if libpsl is not installed. Programs neither need it
/// to be built nor to start, so it is loaded by the first call. Most systems have it, because their libcurl needs it.
int inflight_is_public_suffix(const char *_Nonnull domain);
