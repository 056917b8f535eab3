#include "CInflightCurl.h"

#include <dlfcn.h>
#include <pthread.h>

// Two functions of <libpsl.h>, which have had these signatures in every version with this name.
typedef const void *(*latest_function)(const char *file);
typedef int (*is_public_suffix_function)(const void *list, const char *domain);

static pthread_once_t once = PTHREAD_ONCE_INIT;
// Set once, and never released.
static const void *list;
static is_public_suffix_function is_public_suffix;

static void load(void) {
    void *library = dlopen("libpsl.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!library) return;
    latest_function latest = (latest_function)dlsym(library, "psl_latest");
    is_public_suffix = (is_public_suffix_function)dlsym(library, "psl_is_public_suffix");
    // The newer of the system's list and the one that is built into the library.
    if (latest && is_public_suffix) list = latest(NULL);
}

int inflight_is_public_suffix(const char *domain) {
    pthread_once(&once, load);
    return list ? is_public_suffix(list, domain) != 0 : -1;
}
