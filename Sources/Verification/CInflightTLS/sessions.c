#include "certificates.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct inflight_tls_context {
    SSL_CTX *ssl;
    BIO_METHOD *method;
};

struct inflight_tls_session {
    SSL *ssl;
};

// OpenSSL's own socket BIO writes without MSG_NOSIGNAL, so a peer that closes the connection would kill this process
// by SIGPIPE. This BIO passes the flag. It keeps the descriptor in the BIO's data.

static int descriptor_of(BIO *bio) {
    return (int)(intptr_t)BIO_get_data(bio);
}

static int note_retry(BIO *bio, ssize_t count, int flag) {
    BIO_clear_retry_flags(bio);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_flags(bio, flag | BIO_FLAGS_SHOULD_RETRY);
    return (int)count;
}

static int bio_write(BIO *bio, const char *bytes, int count) {
    return note_retry(bio, send(descriptor_of(bio), bytes, (size_t)count, MSG_NOSIGNAL), BIO_FLAGS_WRITE);
}

static int bio_read(BIO *bio, char *buffer, int count) {
    return note_retry(bio, recv(descriptor_of(bio), buffer, (size_t)count, 0), BIO_FLAGS_READ);
}

static long bio_control(BIO *bio, int command, long number, void *pointer) {
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

static int bio_create(BIO *bio) {
    BIO_set_init(bio, 1);
    return 1;
}

/// The ALPN callback: selects HTTP/1.1, or fails the handshake if the client does not offer it.
static int choose_protocol(
    SSL *ssl, const unsigned char **chosen, unsigned char *length, const unsigned char *offered, unsigned count,
    void *unused) {
    (void)ssl, (void)unused;
    static const unsigned char ours[] = "\x08http/1.1";
    unsigned char *found = NULL;
    if (SSL_select_next_proto(&found, length, ours, sizeof ours - 1, offered, count) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *chosen = found;
    return SSL_TLSEXT_ERR_OK;
}

static inflight_tls_context *context_create(const SSL_METHOD *method) {
    inflight_tls_context *context = calloc(1, sizeof *context);
    if (!context) return NULL;
    context->ssl = SSL_CTX_new(method);
    context->method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket without signals");
    if (context->ssl && context->method
        && BIO_meth_set_write(context->method, bio_write) && BIO_meth_set_read(context->method, bio_read)
        && BIO_meth_set_ctrl(context->method, bio_control) && BIO_meth_set_create(context->method, bio_create)
        && SSL_CTX_set_min_proto_version(context->ssl, TLS1_2_VERSION)) {
        SSL_CTX_set_mode(context->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        return context;
    }
    inflight_tls_context_free(context);
    return NULL;
}

inflight_tls_context *inflight_tls_server_create(
    const inflight_tls_authority *authority, inflight_tls_certificate certificate) {
    inflight_tls_context *context = context_create(TLS_server_method());
    if (!context) return NULL;
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *leaf = key ? inflight_tls_issue(authority, certificate, key) : NULL;
    int ok = leaf && SSL_CTX_use_certificate(context->ssl, leaf) && SSL_CTX_use_PrivateKey(context->ssl, key);
    X509_free(leaf);
    EVP_PKEY_free(key);
    if (!ok) {
        inflight_tls_context_free(context);
        return NULL;
    }
    SSL_CTX_set_alpn_select_cb(context->ssl, choose_protocol, NULL);
    return context;
}

inflight_tls_context *inflight_tls_client_create(const inflight_tls_authority *authority) {
    inflight_tls_context *context = context_create(TLS_client_method());
    if (!context) return NULL;
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context->ssl), authority->certificate)
        && X509_VERIFY_PARAM_set1_ip_asc(SSL_CTX_get0_param(context->ssl), "127.0.0.1")
        && SSL_CTX_set_alpn_protos(context->ssl, (const unsigned char *)"\x08http/1.1", 9) == 0) {
        SSL_CTX_set_verify(context->ssl, SSL_VERIFY_PEER, NULL);
        return context;
    }
    inflight_tls_context_free(context);
    return NULL;
}

void inflight_tls_context_free(inflight_tls_context *context) {
    SSL_CTX_free(context->ssl);
    BIO_meth_free(context->method);
    free(context);
}

inflight_tls_session *inflight_tls_session_create(const inflight_tls_context *context, int descriptor) {
    inflight_tls_session *session = calloc(1, sizeof *session);
    if (!session) return NULL;
    session->ssl = SSL_new(context->ssl);
    BIO *bio = session->ssl ? BIO_new(context->method) : NULL;
    if (!bio) {
        inflight_tls_session_free(session);
        return NULL;
    }
    BIO_set_data(bio, (void *)(intptr_t)descriptor);
    SSL_set_bio(session->ssl, bio, bio);
    if (SSL_is_server(session->ssl)) SSL_set_accept_state(session->ssl);
    else SSL_set_connect_state(session->ssl);
    return session;
}

void inflight_tls_session_free(inflight_tls_session *session) {
    SSL_free(session->ssl);
    free(session);
}

static int outcome(inflight_tls_session *session, int result) {
    switch (SSL_get_error(session->ssl, result)) {
    case SSL_ERROR_NONE: return result;
    case SSL_ERROR_ZERO_RETURN: return INFLIGHT_TLS_END;
    case SSL_ERROR_WANT_READ: return INFLIGHT_TLS_WANTS_READ;
    case SSL_ERROR_WANT_WRITE: return INFLIGHT_TLS_WANTS_WRITE;
    default: return INFLIGHT_TLS_FAILED;
    }
}

int inflight_tls_handshake(inflight_tls_session *session) {
    ERR_clear_error();
    int result = outcome(session, SSL_do_handshake(session->ssl));
    // If the peer closes the connection during the handshake, the handshake has failed. SSL_do_handshake returns 1 on
    // success.
    if (result == INFLIGHT_TLS_END) return INFLIGHT_TLS_FAILED;
    return result > 0 ? INFLIGHT_TLS_END : result;
}

int inflight_tls_read(inflight_tls_session *session, void *buffer, int count) {
    ERR_clear_error();
    return outcome(session, SSL_read(session->ssl, buffer, count));
}

int inflight_tls_write(inflight_tls_session *session, const void *bytes, int count) {
    ERR_clear_error();
    return outcome(session, SSL_write(session->ssl, bytes, count));
}

void inflight_tls_say_goodbye(inflight_tls_session *session) {
    ERR_clear_error();
    SSL_shutdown(session->ssl);
}

void inflight_tls_last_error(char *buffer, size_t capacity) {
    unsigned long code = ERR_peek_last_error();
    if (code) ERR_error_string_n(code, buffer, capacity);
    else if (capacity) buffer[0] = 0;
}
