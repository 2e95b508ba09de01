/* A login by SCRAM-SHA-256 (RFC 5802, 7677), as Kafka's clients log in: SaslHandshake, then two SaslAuthenticate.
 *
 * It needs OpenSSL (-DWITH_TLS). The salted password is derived once for each salt: a machine that runs a thousand
 * clients would derive it a thousand times, and that is not the proxy's cost. The server's proof is not checked.
 */
#ifndef LOGIN_H
#define LOGIN_H

#ifdef WITH_TLS
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#endif

#include "wire.h"

enum { SASL_HANDSHAKE = 17, SASL_AUTHENTICATE = 36, KEY_BYTES = 32, NONCE_CHARS = 24, LOGIN_STEPS = 3 };

static const char *login_user, *login_password; /* null: no login */

struct login {
    int step; /* the requests that were sent */
    char nonce[NONCE_CHARS + 1];
};

/* A request with a header of version 1; `frame_end` must follow its body. Returns where the frame begins. */
static inline size_t frame_begin(struct buffer *out, int api_key, int version)
{
    size_t frame = out->end - out->start;
    put(out, 0, SIZE_BYTES);
    put(out, api_key, 2);
    put(out, version, 2);
    put(out, 0, 4); /* the correlation id: these requests go one by one */
    put_text(out, "load-generator");
    return frame;
}

static inline void frame_end(struct buffer *out, size_t frame)
{
    store(out->bytes + out->start + frame, (int64_t)(out->end - out->start - frame - SIZE_BYTES), SIZE_BYTES);
}

#ifdef WITH_TLS
static inline void hmac(const uint8_t *key, const void *text, size_t size, uint8_t *to)
{
    HMAC(EVP_sha256(), key, KEY_BYTES, text, size, to, NULL);
}

static inline const uint8_t *salted_password(const char *salt64, int iterations)
{
    static char known[64];
    static int known_iterations;
    static uint8_t key[KEY_BYTES];
    if (strcmp(known, salt64) != 0 || known_iterations != iterations) {
        uint8_t salt[64];
        size_t chars = strlen(salt64);
        int size = chars < sizeof known ? EVP_DecodeBlock(salt, (const uint8_t *)salt64, (int)chars) : -1;
        if (size < 3)
            die("a salt of %zu characters", chars);
        size -= salt64[chars - 1] == '=' ? 1 + (salt64[chars - 2] == '=') : 0;
        PKCS5_PBKDF2_HMAC(login_password, -1, salt, size, iterations, EVP_sha256(), KEY_BYTES, key);
        strcpy(known, salt64);
        known_iterations = iterations;
    }
    return key;
}

static inline void put_auth(struct buffer *out, const char *text)
{
    put(out, (int64_t)strlen(text), 4);
    put_bytes(out, text, strlen(text));
}

static inline void put_client_first(struct login *login, struct buffer *out)
{
    uint8_t random[NONCE_CHARS / 4 * 3];
    char text[256];
    RAND_bytes(random, sizeof random);
    EVP_EncodeBlock((uint8_t *)login->nonce, random, sizeof random);
    snprintf(text, sizeof text, "n,,n=%s,r=%s", login_user, login->nonce);
    put_auth(out, text);
}

static inline void put_client_final(struct login *login, const char *server_first, struct buffer *out)
{
    char nonce[128], salt[64], without_proof[256], message[1024];
    int iterations;
    if (sscanf(server_first, "r=%127[^,],s=%63[^,],i=%d", nonce, salt, &iterations) != 3)
        die("not a SCRAM challenge: %s", server_first);
    snprintf(without_proof, sizeof without_proof, "c=biws,r=%s", nonce);
    int size = snprintf(message, sizeof message, "n=%s,r=%s,%s,%s", login_user, login->nonce, server_first,
                        without_proof);
    uint8_t client_key[KEY_BYTES], stored_key[KEY_BYTES], signature[KEY_BYTES], proof64[48];
    hmac(salted_password(salt, iterations), "Client Key", 10, client_key);
    EVP_Digest(client_key, KEY_BYTES, stored_key, NULL, EVP_sha256(), NULL);
    hmac(stored_key, message, (size_t)size, signature);
    for (int i = 0; i < KEY_BYTES; i++)
        client_key[i] ^= signature[i];
    EVP_EncodeBlock(proof64, client_key, KEY_BYTES);
    snprintf(message, sizeof message, "%s,p=%s", without_proof, (char *)proof64);
    put_auth(out, message);
}
#else
static inline void put_client_first(struct login *login, struct buffer *out) { die("no SCRAM %p %p", (void *)login, (void *)out); }
static inline void put_client_final(struct login *login, const char *text, struct buffer *out) { die("%s %p %p", text, (void *)login, (void *)out); }
#endif

/* Takes the answer to the request before (nothing before the first one) and puts the next request into `out`.
 * False if there is no further one: the client is logged in. */
static inline bool login_goes_on(struct login *login, struct cursor answer, struct buffer *out)
{
    char server_first[256] = "";
    if (login_user == NULL)
        return false;
    if (login->step > 0) {
        take(&answer, SIZE_BYTES + 4);
        int64_t code = take(&answer, 2);
        if (code != 0)
            die("step %d of a login: error code %lld", login->step, (long long)code);
    }
    if (login->step == 2) {
        take_string(&answer, false, 2);
        struct string text = take_string(&answer, false, 4);
        snprintf(server_first, sizeof server_first, "%.*s", (int)text.size, (const char *)text.bytes);
    }
    if (login->step == LOGIN_STEPS)
        return false;
    size_t frame = frame_begin(out, login->step == 0 ? SASL_HANDSHAKE : SASL_AUTHENTICATE, login->step == 0);
    if (login->step == 0)
        put_text(out, "SCRAM-SHA-256");
    else if (login->step == 1)
        put_client_first(login, out);
    else
        put_client_final(login, server_first, out);
    frame_end(out, frame);
    login->step++;
    return true;
}

#endif
