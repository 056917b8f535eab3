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
    // Never closed: transports may be created until the process ends.
    library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
#define FIND(name) .name = find("curl_" #name),
    inflight_curl = (struct inflight_curl){INFLIGHT_CURL_FUNCTIONS(FIND)};
#undef FIND
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
