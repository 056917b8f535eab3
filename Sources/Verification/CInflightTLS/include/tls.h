#pragma once

#include <stddef.h>

/// Certificates made in memory, and TLS over a socket that does not block. Nothing here is for more than tests: keys
/// are made anew each time and are worth nothing.

/// A certificate authority of its own: a key and a self-signed certificate.
typedef struct inflight_tls_authority inflight_tls_authority;

/// A server's certificate, signed by an authority, ready to accept connections; or a client that trusts one.
typedef struct inflight_tls_context inflight_tls_context;

/// One connection.
typedef struct inflight_tls_session inflight_tls_session;

typedef enum {
    /// For localhost, 127.0.0.1 and ::1, from yesterday until next year.
    INFLIGHT_TLS_VALID,
    /// For the same names, until yesterday.
    INFLIGHT_TLS_EXPIRED,
    /// Valid now, for a host that this is not.
    INFLIGHT_TLS_WRONG_HOST,
} inflight_tls_certificate;

/// NULL where OpenSSL cannot; `inflight_tls_last_error` says why.
inflight_tls_authority *_Nullable inflight_tls_authority_create(void);
void inflight_tls_authority_free(inflight_tls_authority *_Nonnull authority);

/// Writes the authority's certificate as PEM, ended by a zero byte, if it fits. Returns the bytes needed, that one
/// included.
size_t inflight_tls_authority_pem(
    const inflight_tls_authority *_Nonnull authority, char *_Nullable buffer, size_t capacity);

inflight_tls_context *_Nullable inflight_tls_server_create(
    const inflight_tls_authority *_Nonnull authority, inflight_tls_certificate certificate);
/// A client that trusts this authority alone, and checks that the certificate is for 127.0.0.1.
inflight_tls_context *_Nullable inflight_tls_client_create(const inflight_tls_authority *_Nonnull authority);
void inflight_tls_context_free(inflight_tls_context *_Nonnull context);

/// Does not take over the descriptor.
inflight_tls_session *_Nullable inflight_tls_session_create(
    const inflight_tls_context *_Nonnull context, int descriptor);
void inflight_tls_session_free(inflight_tls_session *_Nonnull session);

/// What these three give, where it is not a number of bytes above zero.
enum {
    /// The handshake is done; or the connection has ended, when reading.
    INFLIGHT_TLS_END = 0,
    INFLIGHT_TLS_WANTS_READ = -1,
    INFLIGHT_TLS_WANTS_WRITE = -2,
    INFLIGHT_TLS_FAILED = -3,
};

int inflight_tls_handshake(inflight_tls_session *_Nonnull session);
int inflight_tls_read(inflight_tls_session *_Nonnull session, void *_Nonnull buffer, int count);
int inflight_tls_write(inflight_tls_session *_Nonnull session, const void *_Nonnull bytes, int count);

/// Tells the other side that nothing follows, if that can be done without blocking.
void inflight_tls_say_goodbye(inflight_tls_session *_Nonnull session);

/// What this thread's last failure was, in OpenSSL's words; empty where it has none.
void inflight_tls_last_error(char *_Nonnull buffer, size_t capacity);
