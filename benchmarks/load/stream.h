/* A connection to 127.0.0.1 as a stream of bytes: plain, or over TLS where compiled with -DWITH_TLS.
 *
 * stream_read and stream_write return the number of bytes, or 0 if they would have to wait for the other
 * side. A stream that ends or breaks ends the program.
 */
#ifndef STREAM_H
#define STREAM_H

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
#ifdef WITH_TLS
#include <openssl/err.h>
#include <openssl/ssl.h>
#else
typedef void SSL;
#endif

#include "wire.h"

struct stream {
    int fd;
    SSL *tls; /* null for a plain connection */
};

#ifdef WITH_TLS
static SSL_CTX *tls_context;

static inline void trust(const char *ca)
{
    tls_context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_mode(tls_context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_verify(tls_context, SSL_VERIFY_PEER, NULL);
    if (SSL_CTX_load_verify_locations(tls_context, ca, NULL) != 1)
        die("%s: not a certificate to trust", ca);
}

static inline void start_tls(struct stream *stream)
{
    stream->tls = SSL_new(tls_context);
    SSL_set_fd(stream->tls, stream->fd);
    if (SSL_connect(stream->tls) != 1)
        die("TLS handshake: %s", ERR_error_string(ERR_get_error(), NULL));
}

static inline size_t tls_result(const struct stream *stream, int result)
{
    if (result > 0)
        return (size_t)result;
    int error = SSL_get_error(stream->tls, result);
    if (error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE)
        die("a TLS connection was closed");
    return 0;
}
#else
static inline void trust(const char *ca)
{
    die("compiled without TLS, so %s is of no use", ca);
}
static inline void start_tls(struct stream *stream) { (void)stream; }
static inline size_t tls_result(const struct stream *stream, int result) { return stream ? (size_t)result : 0; }
#define SSL_read(tls, bytes, size) ((void)(bytes), 0)
#define SSL_write(tls, bytes, size) ((void)(bytes), 0)
#endif

static inline size_t socket_result(ssize_t result)
{
    if (result > 0)
        return (size_t)result;
    if (result == 0 || errno != EAGAIN)
        die("a connection was closed: %s", result == 0 ? "end of stream" : strerror(errno));
    return 0;
}

static inline size_t stream_read(struct stream *stream, uint8_t *to, size_t size)
{
    if (stream->tls != NULL)
        return tls_result(stream, SSL_read(stream->tls, to, (int)size));
    return socket_result(recv(stream->fd, to, size, 0));
}

static inline size_t stream_write(struct stream *stream, const uint8_t *bytes, size_t size)
{
    if (stream->tls != NULL)
        return tls_result(stream, SSL_write(stream->tls, bytes, (int)size));
    return socket_result(send(stream->fd, bytes, size, MSG_NOSIGNAL));
}

/* Returns a connected, non-blocking stream, after the handshake if `is_tls`. */
static inline struct stream stream_to(int port, bool is_tls)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons((uint16_t)port)};
    struct stream stream = {.fd = socket(AF_INET, SOCK_STREAM, 0)};
    if (stream.fd < 0 || connect(stream.fd, (struct sockaddr *)&address, sizeof address) < 0)
        die("cannot connect to port %d: %s", port, strerror(errno));
    setsockopt(stream.fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    if (is_tls)
        start_tls(&stream);
    fcntl(stream.fd, F_SETFL, O_NONBLOCK);
    return stream;
}

#endif
