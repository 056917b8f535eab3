#define _GNU_SOURCE
#include "CInflightBatch.h"

#if !__has_include(<openssl/evp.h>)
#error "OpenSSL 3 is missing: install the Debian package libssl-dev"
#endif

#include <fcntl.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <unistd.h>

int inflight_synchronize_all(int descriptor) { return syncfs(descriptor); }

int inflight_exchange(const char *path, const char *other) {
    return renameat2(AT_FDCWD, path, AT_FDCWD, other, RENAME_EXCHANGE);
}

int inflight_sha256(const void *bytes, size_t count, unsigned char *digest) {
    return EVP_Digest(bytes, count, digest, NULL, EVP_sha256(), NULL) == 1 ? 0 : -1;
}

int inflight_md5(const void *bytes, size_t count, unsigned char *digest) {
    return EVP_Digest(bytes, count, digest, NULL, EVP_md5(), NULL) == 1 ? 0 : -1;
}

int inflight_base64(const unsigned char *bytes, int count, unsigned char *text) {
    return EVP_EncodeBlock(text, bytes, count);
}
