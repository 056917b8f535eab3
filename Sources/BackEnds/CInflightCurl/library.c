#include "CInflightCurl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

struct inflight_curl inflight_curl;

static pthread_once_t once = PTHREAD_ONCE_INIT;
// Why libcurl cannot be used; empty if it can.
static char problem[256];

static void *library;

static void *find(const char *name) {
    void *function = library ? dlsym(library, name) : NULL;
    if (!function && !problem[0]) snprintf(problem, sizeof problem, "%s", dlerror());
    return function;
}

static void load(void) {
    // Never closed: it has threads and callbacks of its own.
    library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
    inflight_curl = (struct inflight_curl){
        .easy_cleanup = find("curl_easy_cleanup"),
        .easy_getinfo = find("curl_easy_getinfo"),
        .easy_init = find("curl_easy_init"),
        .easy_pause = find("curl_easy_pause"),
        .easy_setopt = find("curl_easy_setopt"),
        .easy_strerror = find("curl_easy_strerror"),
        .global_init = find("curl_global_init"),
        .multi_add_handle = find("curl_multi_add_handle"),
        .multi_cleanup = find("curl_multi_cleanup"),
        .multi_info_read = find("curl_multi_info_read"),
        .multi_init = find("curl_multi_init"),
        .multi_remove_handle = find("curl_multi_remove_handle"),
        .multi_setopt = find("curl_multi_setopt"),
        .multi_socket_action = find("curl_multi_socket_action"),
        .share_cleanup = find("curl_share_cleanup"),
        .share_init = find("curl_share_init"),
        .share_setopt = find("curl_share_setopt"),
        .slist_append = find("curl_slist_append"),
        .slist_free_all = find("curl_slist_free_all"),
        .version_info = find("curl_version_info"),
    };
    if (problem[0]) return;
    const curl_version_info_data *version = inflight_curl.version_info(CURLVERSION_NOW);
    if (version->version_num < CURL_VERSION_BITS(7, 84, 0))
        snprintf(problem, sizeof problem, "it is libcurl %s", version->version);
    else if (inflight_curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
        snprintf(problem, sizeof problem, "it cannot be initialised");
}

const char *inflight_curl_load(void) {
    pthread_once(&once, load);
    return problem[0] ? problem : NULL;
}
