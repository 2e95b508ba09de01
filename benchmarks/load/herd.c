/* Connections that stay idle, and that come back all at once, as clients do when their proxy has restarted.
 *
 *     herd --port P [--ports N] --connections C [--addresses A] [--ca PEM] [--user NAME --password TEXT]
 *
 * Connection i goes to port P + i % N (1) of 127.0.0.1, from one of A (100) source addresses in 127.1.0.0/16. It has
 * a TLS handshake (--ca), logs in (--user), asks for ApiVersions, and is served when that is answered. Then it is idle.
 *
 * All connect at once. When all are served it prints one line of JSON: the seconds until then, and how many
 * connections failed meanwhile. A connection that fails comes back after 50 ms, later twice as long, at most 1 s, as
 * Kafka's clients do (reconnect.backoff.ms). A line on standard input closes all and begins again. It ends with
 * standard input.
 */
#include <getopt.h>
#include <signal.h>
#include <sys/epoll.h>

#include "stream.h"

#include "login.h"

enum { EVENTS = 512, FIRST_RETRY_NS = 50000000, LAST_RETRY_NS = 1000000000, TURN_MS = 10, ADDRESSES_A_BYTE = 250 };

static struct {
    int port, ports, connections, addresses;
    const char *ca;
} options = {.ports = 1, .addresses = 100};

enum state { WAITING, CONNECTING, SHAKING_HANDS, ASKING, SERVED };

struct member {
    struct stream stream;
    enum state state;
    bool asked; /* for ApiVersions, after the login */
    int64_t due_ns, retry_ns;
    struct login login;
    struct buffer in;
};

static struct member *members;
static int epoll, served;
static int64_t failures;

static void close_member(struct member *member)
{
    served -= member->state == SERVED;
#ifdef WITH_TLS
    if (member->stream.tls != NULL)
        SSL_free(member->stream.tls);
#endif
    if (member->stream.fd > 0)
        close(member->stream.fd); /* epoll forgets it, too */
    free(member->in.bytes);
    int64_t retry_ns = member->retry_ns;
    *member = (struct member){.retry_ns = retry_ns};
}

static void fail(struct member *member)
{
    close_member(member);
    failures++;
    member->due_ns = now_ns() + member->retry_ns;
    member->retry_ns = 2 * member->retry_ns < LAST_RETRY_NS ? 2 * member->retry_ns : LAST_RETRY_NS;
}

static void watch(struct member *member, int operation, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = member};
    if (epoll_ctl(epoll, operation, member->stream.fd, &event) < 0)
        die("epoll_ctl: %s", strerror(errno));
}

static void begin(struct member *member)
{
    int number = (int)(member - members), address = number % options.addresses;
    uint32_t from = 127u << 24 | 1u << 16 | (uint32_t)(address / ADDRESSES_A_BYTE) << 8 |
                    (uint32_t)(address % ADDRESSES_A_BYTE + 1);
    struct sockaddr_in source = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(from)};
    struct sockaddr_in target = {.sin_family = AF_INET,
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                 .sin_port = htons((uint16_t)(options.port + number % options.ports))};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (fd < 0)
        die("connection %d: %s", number, strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &(int){1}, sizeof(int));
    if (bind(fd, (struct sockaddr *)&source, sizeof source) < 0)
        die("cannot connect from %s: %s", inet_ntoa(source.sin_addr), strerror(errno));
    member->stream = (struct stream){.fd = fd};
    member->state = CONNECTING;
    if (connect(fd, (struct sockaddr *)&target, sizeof target) < 0 && errno != EINPROGRESS)
        fail(member);
    else
        watch(member, EPOLL_CTL_ADD, EPOLLOUT);
}

/* True if all was sent: a request is so small that a new connection takes it whole. */
static bool send_all(struct member *member, const struct buffer *out)
{
    size_t size = out->end - out->start;
#ifdef WITH_TLS
    if (member->stream.tls != NULL)
        return SSL_write(member->stream.tls, out->bytes + out->start, (int)size) == (int)size;
#endif
    return send(member->stream.fd, out->bytes + out->start, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* The next request of a connection, after the answer to the one before. */
static void ask(struct member *member, struct cursor answer)
{
    struct buffer out = {0};
    if (!login_goes_on(&member->login, answer, &out)) {
        if (member->asked) {
            member->state = SERVED;
            served++;
            return;
        }
        member->asked = true;
        frame_end(&out, frame_begin(&out, API_VERSIONS, 0));
    }
    if (!send_all(member, &out))
        fail(member);
    free(out.bytes);
}

static void shake_hands(struct member *member)
{
#ifdef WITH_TLS
    int result = SSL_connect(member->stream.tls), error = SSL_get_error(member->stream.tls, result);
    if (result != 1) {
        if (error == SSL_ERROR_WANT_WRITE)
            watch(member, EPOLL_CTL_MOD, EPOLLOUT);
        else if (error == SSL_ERROR_WANT_READ)
            watch(member, EPOLL_CTL_MOD, EPOLLIN);
        else
            fail(member);
        return;
    }
#endif
    member->state = ASKING;
    watch(member, EPOLL_CTL_MOD, EPOLLIN);
    ask(member, (struct cursor){0});
}

static void connected(struct member *member)
{
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(member->stream.fd, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) {
        fail(member);
        return;
    }
#ifdef WITH_TLS
    if (options.ca != NULL) {
        member->stream.tls = SSL_new(tls_context);
        SSL_set_fd(member->stream.tls, member->stream.fd);
    }
#endif
    member->state = SHAKING_HANDS;
    if (options.ca != NULL)
        shake_hands(member);
    else {
        member->state = ASKING;
        watch(member, EPOLL_CTL_MOD, EPOLLIN);
        ask(member, (struct cursor){0});
    }
}

/* Reads what came; false if the connection has ended. */
static bool receive(struct member *member)
{
    for (;;) {
        uint8_t *to = reserve(&member->in, 2048);
        ssize_t size;
        bool waits;
#ifdef WITH_TLS
        if (member->stream.tls != NULL) {
            size = SSL_read(member->stream.tls, to, 2048);
            waits = size <= 0 && SSL_get_error(member->stream.tls, (int)size) == SSL_ERROR_WANT_READ;
        } else
#endif
        {
            size = recv(member->stream.fd, to, 2048, 0);
            waits = size < 0 && errno == EAGAIN;
        }
        if (size <= 0)
            return waits;
        member->in.end += (size_t)size;
    }
}

static void serve(struct member *member)
{
    if (member->state == CONNECTING)
        connected(member);
    else if (member->state == SHAKING_HANDS)
        shake_hands(member);
    else if (!receive(member)) /* at the end of a served one, too: its proxy has stopped */
        fail(member);
    else {
        size_t whole = frame_size(&member->in);
        if (whole == 0 || whole > member->in.end - member->in.start)
            return;
        struct buffer answer = member->in;
        member->in = (struct buffer){0};
        ask(member, (struct cursor){answer.bytes + answer.start, answer.bytes + answer.start + whole});
        free(answer.bytes);
    }
}

/* Connects all, and returns when all are served. */
static void bring_back(void)
{
    struct epoll_event events[EVENTS];
    int64_t looked_ns = 0;
    for (int i = 0; i < options.connections; i++) {
        members[i].retry_ns = FIRST_RETRY_NS;
        close_member(&members[i]);
    }
    failures = 0;
    int64_t begun_ns = now_ns();
    while (served < options.connections) {
        int64_t now = now_ns();
        if (now - looked_ns > TURN_MS * 1000000) {
            looked_ns = now;
            for (int i = 0; i < options.connections; i++)
                if (members[i].state == WAITING && members[i].due_ns <= now)
                    begin(&members[i]);
        }
        int ready = epoll_wait(epoll, events, EVENTS, TURN_MS);
        for (int i = 0; i < ready; i++)
            serve(events[i].data.ptr);
    }
    printf("{\"seconds\": %.3f, \"failures\": %lld}\n", (double)(now_ns() - begun_ns) / 1e9, (long long)failures);
    fflush(stdout);
}

int main(int count, char **arguments)
{
    static const struct option NAMES[] = {
        {"port", 1, NULL, 'p'}, {"ports", 1, NULL, 'n'}, {"connections", 1, NULL, 'c'}, {"addresses", 1, NULL, 'a'},
        {"ca", 1, NULL, 't'},   {"user", 1, NULL, 'u'},  {"password", 1, NULL, 'w'},    {NULL, 0, NULL, 0},
    };
    char line[16];
    int letter;
    while ((letter = getopt_long(count, arguments, "", NAMES, NULL)) != -1) {
        switch (letter) {
        case 'p': options.port = atoi(optarg); break;
        case 'n': options.ports = atoi(optarg); break;
        case 'c': options.connections = atoi(optarg); break;
        case 'a': options.addresses = atoi(optarg); break;
        case 't': options.ca = optarg; break;
        case 'u': login_user = optarg; break;
        case 'w': login_password = optarg; break;
        default: exit(2);
        }
    }
    if (options.port < 1 || options.ports < 1 || options.connections < 1 || options.addresses < 1)
        die("--port and --connections are needed");
    signal(SIGPIPE, SIG_IGN); /* OpenSSL writes without MSG_NOSIGNAL */
    if (options.ca != NULL)
        trust(options.ca);
    epoll = epoll_create1(0);
    members = calloc((size_t)options.connections, sizeof *members);
    puts("ready");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin) != NULL)
        bring_back();
    return 0;
}
