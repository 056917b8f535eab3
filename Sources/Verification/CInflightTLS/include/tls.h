#pragma once

#include <stddef.h>

// Certificates generated in memory, and TLS over non-blocking sockets. For tests only: each authority and each server
// generates a new key, which is never stored.

/// A certificate authority: a key and a self-signed certificate.
typedef struct inflight_tls_authority inflight_tls_authority;

/// The TLS configuration of a server, with a certificate signed by an authority, or of a client that trusts an
/// authority.
typedef struct inflight_tls_context inflight_tls_context;

/// One TLS connection.
typedef struct inflight_tls_session inflight_tls_session;

typedef enum {
    /// For localhost, 127.0.0.1 and ::1. Valid from two days ago, for 366 days.
    INFLIGHT_TLS_VALID,
    /// For the same names. Expired one day ago.
    INFLIGHT_TLS_EXPIRED,
    /// Valid at present, for another host name only.
    INFLIGHT_TLS_WRONG_HOST,
} inflight_tls_certificate;

/// Creates an authority. Returns NULL if OpenSSL fails; `inflight_tls_last_error` tells why.
inflight_tls_authority *_Nullable inflight_tls_authority_create(void);
void inflight_tls_authority_free(inflight_tls_authority *_Nonnull authority);

/// Writes the authority's certificate as zero-terminated PEM, if it fits. Returns the number of bytes needed, including
/// the terminator, or 0 on failure.
size_t inflight_tls_authority_pem(
    const inflight_tls_authority *_Nonnull authority, char *_Nullable buffer, size_t capacity);

inflight_tls_context *_Nullable inflight_tls_server_create(
    const inflight_tls_authority *_Nonnull authority, inflight_tls_certificate certificate);
/// Creates a client that trusts only this authority, and requires a certificate for 127.0.0.1.
inflight_tls_context *_Nullable inflight_tls_client_create(const inflight_tls_authority *_Nonnull authority);
void inflight_tls_context_free(inflight_tls_context *_Nonnull context);

/// Creates a session on a connected, non-blocking socket, which stays the caller's to close.
inflight_tls_session *_Nullable inflight_tls_session_create(
    const inflight_tls_context *_Nonnull context, int descriptor);
void inflight_tls_session_free(inflight_tls_session *_Nonnull session);

/// The results of the three functions below. Read and write return a positive number of bytes on success.
enum {
    /// After a handshake: it is complete. After a read: the peer has closed the connection.
    INFLIGHT_TLS_END = 0,
    INFLIGHT_TLS_WANTS_READ = -1,
    INFLIGHT_TLS_WANTS_WRITE = -2,
    INFLIGHT_TLS_FAILED = -3,
};

int inflight_tls_handshake(inflight_tls_session *_Nonnull session);
int inflight_tls_read(inflight_tls_session *_Nonnull session, void *_Nonnull buffer, int count);
int inflight_tls_write(inflight_tls_session *_Nonnull session, const void *_Nonnull bytes, int count);

/// Sends TLS's close_notify alert, if that is possible without blocking.
void inflight_tls_say_goodbye(inflight_tls_session *_Nonnull session);

/// Writes OpenSSL's text for the last failure on this thread to `buffer`, or an empty string if there is none.
void inflight_tls_last_error(char *_Nonnull buffer, size_t capacity);
