#pragma once

#if !__has_include(<openssl/ssl.h>)
#error "OpenSSL 3 is missing: install the Debian package libssl-dev"
#endif

#include "tls.h"

#include <openssl/evp.h>
#include <openssl/x509.h>

struct inflight_tls_authority {
    EVP_PKEY *key;
    X509 *certificate;
};

/// Issues a server certificate for `key`. Returns NULL if OpenSSL fails.
X509 *inflight_tls_issue(
    const inflight_tls_authority *authority, inflight_tls_certificate kind, EVP_PKEY *key);
