#include "certificates.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

static const long day = 24 * 60 * 60;

static int add_extension(X509 *certificate, X509 *issuer, int kind, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    if (!extension) return 0;
    int added = X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    return added;
}

/// Creates a certificate without extensions and signature. It is valid from `first_day` to `last_day`, in days from the
/// current time.
static X509 *begin(const char *name, EVP_PKEY *key, long first_day, long last_day) {
    X509 *certificate = X509_new();
    if (!certificate) return NULL;
    unsigned char serial[8];
    X509_NAME *subject = X509_get_subject_name(certificate);
    int ok = X509_set_version(certificate, 2) && RAND_bytes(serial, sizeof serial) == 1;
    if (ok) {
        serial[0] = (serial[0] & 0x3F) | 0x40;
        BIGNUM *number = BN_bin2bn(serial, sizeof serial, NULL);
        ok = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
        BN_free(number);
    }
    ok = ok && X509_gmtime_adj(X509_getm_notBefore(certificate), first_day * day)
        && X509_gmtime_adj(X509_getm_notAfter(certificate), last_day * day)
        && X509_set_pubkey(certificate, key)
        && X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1, 0);
    if (ok) return certificate;
    X509_free(certificate);
    return NULL;
}

inflight_tls_authority *inflight_tls_authority_create(void) {
    inflight_tls_authority *authority = calloc(1, sizeof *authority);
    if (!authority) return NULL;
    authority->key = EVP_EC_gen("P-256");
    if (authority->key) authority->certificate = begin("Inflight test authority", authority->key, -2, 365);
    X509 *own = authority->certificate;
    if (own && X509_set_issuer_name(own, X509_get_subject_name(own))
        && add_extension(own, own, NID_basic_constraints, "critical,CA:TRUE")
        && add_extension(own, own, NID_key_usage, "critical,keyCertSign,cRLSign")
        && add_extension(own, own, NID_subject_key_identifier, "hash")
        && X509_sign(own, authority->key, EVP_sha256()))
        return authority;
    inflight_tls_authority_free(authority);
    return NULL;
}

void inflight_tls_authority_free(inflight_tls_authority *authority) {
    X509_free(authority->certificate);
    EVP_PKEY_free(authority->key);
    free(authority);
}

size_t inflight_tls_authority_pem(const inflight_tls_authority *authority, char *buffer, size_t capacity) {
    BIO *memory = BIO_new(BIO_s_mem());
    if (!memory) return 0;
    size_t needed = 0;
    if (PEM_write_bio_X509(memory, authority->certificate)) {
        char *text = NULL;
        long count = BIO_get_mem_data(memory, &text);
        needed = (size_t)count + 1;
        if (buffer && needed <= capacity) {
            memcpy(buffer, text, (size_t)count);
            buffer[count] = 0;
        }
    }
    BIO_free(memory);
    return needed;
}

X509 *inflight_tls_issue(
    const inflight_tls_authority *authority, inflight_tls_certificate kind, EVP_PKEY *key) {
    X509 *issuer = authority->certificate;
    X509 *leaf = begin("Inflight test server", key, -2, kind == INFLIGHT_TLS_EXPIRED ? -1 : 364);
    if (!leaf) return NULL;
    const char *names = kind == INFLIGHT_TLS_WRONG_HOST
        ? "DNS:elsewhere.invalid" : "DNS:localhost,IP:127.0.0.1,IP:::1";
    if (X509_set_issuer_name(leaf, X509_get_subject_name(issuer))
        && add_extension(leaf, issuer, NID_basic_constraints, "critical,CA:FALSE")
        && add_extension(leaf, issuer, NID_key_usage, "critical,digitalSignature")
        && add_extension(leaf, issuer, NID_ext_key_usage, "serverAuth")
        && add_extension(leaf, issuer, NID_subject_alt_name, names)
        && add_extension(leaf, issuer, NID_subject_key_identifier, "hash")
        && add_extension(leaf, issuer, NID_authority_key_identifier, "keyid")
        && X509_sign(leaf, authority->key, EVP_sha256()))
        return leaf;
    X509_free(leaf);
    return NULL;
}
