/* A stand-in for a broker under load: it answers Produce and Fetch at once and keeps nothing.
 *
 *     sink [--brokers N] [--topics N] [--partitions N] [--stuck]
 *
 * Prints `ready PORT` when it listens on that port of 127.0.0.1, and runs until it is killed. It is a cluster of N
 * brokers (1), each a process with a port of its own: one process may not open as many files, nor one port have as
 * many connections, as a large load needs.
 * It answers Produce (v3 to v12: code 0 for every partition of the request), Fetch (v4 to v12: for every partition as
 * many bytes as the request allows, all zero), and the requests that clients and proxies send first: ApiVersions,
 * Metadata (v0 to v12: its brokers, and N partitions for every topic in the request, or for --topics of them if the
 * request is for all) and DescribeConfigs (v0 to v2: a topic that accepts timestamps up to an hour ahead, as Kafka 4
 * does).
 * --stuck: it stops reading a connection that has sent the head of a Produce request.
 *
 * A broker has one thread, and uses one read per readiness and one write for all answers. It does not imitate a
 * broker's behaviour: tests of behaviour use real brokers.
 */
#define _GNU_SOURCE /* accept4 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "wire.h"

enum { READ_BYTES = 256 << 10, EVENTS = 256, MAX_BROKERS = 16 };

struct connection {
    int fd;
    bool is_blocked; /* the peer does not read its answers: wait until it does */
    bool is_stuck;
    struct buffer in, out;
};

static int ports[MAX_BROKERS], brokers = 1, topics_in_all, partitions = 1;
static bool sticks;

static const struct {
    int api_key, min, max;
} VERSIONS[] = {{PRODUCE, 3, 12}, {FETCH, 4, 12}, {METADATA, 0, 12}, {API_VERSIONS, 0, 4}, {DESCRIBE_CONFIGS, 0, 2}};
enum { VERSIONS_COUNT = sizeof VERSIONS / sizeof VERSIONS[0] };

static const char *const CONFIGS[][2] = {
    {"message.timestamp.type", "CreateTime"},
    {"message.timestamp.before.max.ms", "9223372036854775807"},
    {"message.timestamp.after.max.ms", "3600000"},
    {"max.message.bytes", "16777216"},
    {"cleanup.policy", "delete"},
};
enum { CONFIGS_COUNT = sizeof CONFIGS / sizeof CONFIGS[0] };

static void answer_api_versions(struct buffer *out, int version)
{
    bool flexible = is_flexible(API_VERSIONS, version);
    put(out, 0, 2);
    put_length(out, VERSIONS_COUNT, flexible, 4);
    for (int i = 0; i < VERSIONS_COUNT; i++) {
        put(out, VERSIONS[i].api_key, 2);
        put(out, VERSIONS[i].min, 2);
        put(out, VERSIONS[i].max, 2);
        put_tags(out, flexible);
    }
    if (version >= 1)
        put(out, 0, 4);
    put_tags(out, flexible);
}

static void put_nodes(struct buffer *out, int node, bool flexible)
{
    put_length(out, 1, flexible, 4);
    put(out, node, 4);
}

static void put_partition_metadata(struct buffer *out, int index, int version, bool flexible)
{
    int leader = 1 + index % brokers; /* and the one replica */
    put(out, 0, 2);
    put(out, index, 4);
    put(out, leader, 4);
    if (version >= 7)
        put(out, 0, 4); /* leader_epoch */
    put_nodes(out, leader, flexible);
    put_nodes(out, leader, flexible); /* in-sync replicas */
    if (version >= 5)
        put_length(out, 0, flexible, 4); /* offline replicas */
    put_tags(out, flexible);
}

static void put_topic_metadata(struct buffer *out, struct string name, int64_t number, int version, bool flexible)
{
    put(out, 0, 2);
    put_string(out, name, flexible);
    if (version >= 10)
        put(out, 1, 8), put(out, number, 8); /* topic_id */
    if (version >= 1)
        put(out, 0, 1); /* is_internal */
    put_length(out, partitions, flexible, 4);
    for (int i = 0; i < partitions; i++)
        put_partition_metadata(out, i, version, flexible);
    if (version >= 8)
        put(out, INT32_MIN, 4); /* the operations were not asked for */
    put_tags(out, flexible);
}

static void answer_metadata(struct buffer *out, int version, struct cursor *body)
{
    bool flexible = is_flexible(METADATA, version);
    int64_t topics = take_length(body, flexible, 4);
    bool wants_all = topics < 0 || (topics == 0 && version == 0);
    if (version >= 3)
        put(out, 0, 4);
    put_length(out, brokers, flexible, 4);
    for (int i = 0; i < brokers; i++) {
        put(out, 1 + i, 4);
        put_string(out, string_of("127.0.0.1"), flexible);
        put(out, ports[i], 4);
        if (version >= 1)
            put_length(out, -1, flexible, 2); /* rack */
        put_tags(out, flexible);
    }
    if (version >= 2)
        put_string(out, string_of("load-sink"), flexible);
    if (version >= 1)
        put(out, 1, 4); /* controller */
    put_length(out, wants_all ? topics_in_all : topics, flexible, 4);
    for (int64_t i = 0; i < (wants_all ? topics_in_all : topics); i++) {
        char name[32];
        snprintf(name, sizeof name, "topic-%06lld", (long long)i);
        if (!wants_all && version >= 10)
            take_bytes(body, 16); /* topic_id: names only */
        put_topic_metadata(out, wants_all ? string_of(name) : take_string(body, flexible, 2), i, version, flexible);
        if (!wants_all)
            skip_tags(body, flexible);
    }
    if (version >= 8 && version <= 10)
        put(out, INT32_MIN, 4);
    put_tags(out, flexible);
}

static void answer_describe_configs(struct buffer *out, int version, struct cursor *body)
{
    int64_t resources = take(body, 4);
    put(out, 0, 4);
    put(out, resources, 4);
    for (; resources > 0; resources--) {
        put(out, 0, 2);
        put(out, -1, 2);
        put(out, take(body, 1), 1);
        put_string(out, take_string(body, false, 2), false);
        for (int64_t names = take(body, 4); names > 0; names--)
            take_string(body, false, 2); /* the answer has all settings, whatever the request names */
        put(out, CONFIGS_COUNT, 4);
        for (int i = 0; i < CONFIGS_COUNT; i++) {
            put_text(out, CONFIGS[i][0]);
            put_text(out, CONFIGS[i][1]);
            put(out, 0, 1); /* read_only */
            put(out, 1, 1); /* v0: is_default; v1: the source, a topic's own setting */
            put(out, 0, 1); /* is_sensitive */
            if (version >= 1)
                put(out, 0, 4); /* synonyms */
        }
    }
}

static void put_partition_response(struct buffer *out, int64_t index, int version, bool flexible)
{
    put(out, index, 4);
    put(out, 0, 2);
    put(out, 0, 8);  /* base_offset */
    put(out, -1, 8); /* log_append_time_ms */
    if (version >= 5)
        put(out, 0, 8); /* log_start_offset */
    if (version >= 8) {
        put_length(out, 0, flexible, 4);  /* record_errors */
        put_length(out, -1, flexible, 2); /* error_message */
    }
    put_tags(out, flexible);
}

/* False where the client wants no answer (acks=0). */
static bool answer_produce(struct buffer *out, int version, struct cursor *body)
{
    bool flexible = is_flexible(PRODUCE, version);
    take_string(body, flexible, 2); /* transactional_id */
    bool is_answered = take(body, 2) != 0;
    take(body, 4); /* timeout */
    int64_t topics = take_length(body, flexible, 4);
    put_length(out, topics, flexible, 4);
    for (; topics > 0; topics--) {
        put_string(out, take_string(body, flexible, 2), flexible);
        int64_t left = take_length(body, flexible, 4);
        put_length(out, left, flexible, 4);
        for (; left > 0; left--) {
            put_partition_response(out, take(body, 4), version, flexible);
            take_string(body, flexible, 4); /* records */
            skip_tags(body, flexible);
        }
        skip_tags(body, flexible);
        put_tags(out, flexible);
    }
    put(out, 0, 4); /* throttle_time_ms */
    put_tags(out, flexible);
    return is_answered;
}

static void put_fetched_partition(struct buffer *out, int64_t index, int64_t size, int version, bool flexible)
{
    put(out, index, 4);
    put(out, 0, 2);
    put(out, 0, 8); /* high_watermark */
    put(out, 0, 8); /* last_stable_offset */
    if (version >= 5)
        put(out, 0, 8); /* log_start_offset */
    put_length(out, 0, flexible, 4); /* aborted_transactions */
    if (version >= 11)
        put(out, -1, 4); /* preferred_read_replica */
    put_length(out, size, flexible, 4);
    memset(reserve(out, (size_t)size), 0, (size_t)size);
    out->end += (size_t)size;
    put_tags(out, flexible);
}

static void answer_fetch(struct buffer *out, int version, struct cursor *body)
{
    bool flexible = is_flexible(FETCH, version);
    take_bytes(body, 17); /* replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level */
    if (version >= 7)
        take_bytes(body, 8); /* session_id, session_epoch */
    put(out, 0, 4);          /* throttle_time_ms */
    if (version >= 7) {
        put(out, 0, 2);
        put(out, 0, 4); /* session_id: no session */
    }
    int64_t topics = take_length(body, flexible, 4);
    put_length(out, topics, flexible, 4);
    for (; topics > 0; topics--) {
        put_string(out, take_string(body, flexible, 2), flexible);
        int64_t left = take_length(body, flexible, 4);
        put_length(out, left, flexible, 4);
        for (; left > 0; left--) {
            int64_t index = take(body, 4);
            if (version >= 9)
                take(body, 4); /* current_leader_epoch */
            take(body, 8);     /* fetch_offset */
            if (version >= 12)
                take(body, 4); /* last_fetched_epoch */
            if (version >= 5)
                take(body, 8); /* log_start_offset */
            int64_t size = take(body, 4);
            if (size < 0 || size > LARGEST_FRAME / 2)
                die("the sink was asked for %lld bytes", (long long)size);
            skip_tags(body, flexible);
            put_fetched_partition(out, index, size, version, flexible);
        }
        skip_tags(body, flexible);
        put_tags(out, flexible);
    }
    put_tags(out, flexible);
}

static void answer(struct connection *connection, struct cursor request)
{
    take(&request, SIZE_BYTES);
    int api_key = (int)take(&request, 2), version = (int)take(&request, 2);
    int64_t correlation_id = take(&request, 4);
    take_string(&request, false, 2); /* client_id: never in the compact form */
    skip_tags(&request, is_flexible(api_key, version));

    struct buffer *out = &connection->out;
    size_t frame = out->end - out->start; /* relative: `out` may move while it grows */
    put(out, 0, SIZE_BYTES);
    put(out, correlation_id, 4);
    bool is_answered = true;
    switch (api_key) {
    case PRODUCE:
        put_tags(out, is_flexible(api_key, version));
        is_answered = answer_produce(out, version, &request);
        break;
    case FETCH:
        put_tags(out, is_flexible(api_key, version));
        answer_fetch(out, version, &request);
        break;
    case METADATA:
        put_tags(out, is_flexible(api_key, version));
        answer_metadata(out, version, &request);
        break;
    case API_VERSIONS: /* header v0 at every version */
        answer_api_versions(out, version);
        break;
    case DESCRIBE_CONFIGS:
        answer_describe_configs(out, version, &request);
        break;
    default:
        die("the sink was asked for API key %d, version %d", api_key, version);
    }
    if (is_answered)
        store(out->bytes + out->start + frame, (int64_t)(out->end - out->start - frame - SIZE_BYTES), SIZE_BYTES);
    else
        out->end = out->start + frame;
}

static void watch(int epoll, int operation, struct connection *connection)
{
    uint32_t events = connection->is_stuck ? 0 : connection->is_blocked ? EPOLLOUT : EPOLLIN;
    struct epoll_event event = {.events = events, .data.ptr = connection};
    if (epoll_ctl(epoll, operation, connection->fd, &event) < 0)
        die("epoll_ctl: %s", strerror(errno));
}

static void accept_all(int epoll, int listener)
{
    int fd;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &(int){1}, sizeof(int));
        struct connection *connection = calloc(1, sizeof *connection);
        connection->fd = fd;
        watch(epoll, EPOLL_CTL_ADD, connection);
    }
}

static void close_connection(struct connection *connection)
{
    close(connection->fd); /* epoll forgets it too */
    free(connection->in.bytes);
    free(connection->out.bytes);
    free(connection);
}

static bool starts_with_produce(const struct buffer *in)
{
    return in->end - in->start >= 6 && in->bytes[in->start + 4] == 0 && in->bytes[in->start + 5] == PRODUCE;
}

/* Reads once and answers every whole request; false where the peer is gone. */
static bool receive(struct connection *connection)
{
    struct buffer *in = &connection->in;
    size_t whole = frame_size(in), have = in->end - in->start;
    size_t room = whole > have + READ_BYTES ? whole - have : READ_BYTES;
    ssize_t size = recv(connection->fd, reserve(in, room), room, 0);
    if (size <= 0)
        return size < 0 && errno == EAGAIN;
    in->end += (size_t)size;
    while ((whole = frame_size(in)) != 0) {
        if (sticks && starts_with_produce(in)) {
            connection->is_stuck = true;
            return true;
        }
        if (whole > in->end - in->start)
            return true;
        answer(connection, (struct cursor){in->bytes + in->start, in->bytes + in->start + whole});
        drop(in, whole);
    }
    return true;
}

/* Sends what is owed; false where the peer is gone. */
static bool flush(struct connection *connection)
{
    struct buffer *out = &connection->out;
    while (out->start < out->end) {
        ssize_t size = send(connection->fd, out->bytes + out->start, out->end - out->start, MSG_NOSIGNAL);
        if (size < 0 && errno == EAGAIN)
            break;
        if (size < 0)
            return false;
        drop(out, (size_t)size);
    }
    connection->is_blocked = out->start < out->end;
    return true;
}

static void serve(int epoll, struct connection *connection)
{
    bool was_blocked = connection->is_blocked, was_stuck = connection->is_stuck;
    if (!(was_blocked || was_stuck || receive(connection)) || !flush(connection)) {
        close_connection(connection);
        return;
    }
    if (was_stuck) /* no event was requested, so the peer has disconnected */
        close_connection(connection);
    else if (connection->is_blocked != was_blocked || connection->is_stuck)
        watch(epoll, EPOLL_CTL_MOD, connection);
}

static int listen_anywhere(int *port)
{
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    if (bind(listener, (struct sockaddr *)&address, size) < 0 || listen(listener, 4096) < 0 ||
        getsockname(listener, (struct sockaddr *)&address, &size) < 0)
        die("cannot listen: %s", strerror(errno));
    *port = ntohs(address.sin_port);
    return listener;
}

static void serve_for_ever(int listener)
{
    int epoll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN}, events[EVENTS]; /* a null pointer is the listener */
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event) < 0)
        die("epoll_ctl: %s", strerror(errno));
    for (;;) {
        int ready = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < ready; i++) {
            if (events[i].data.ptr == NULL)
                accept_all(epoll, listener);
            else
                serve(epoll, events[i].data.ptr);
        }
    }
}

int main(int count, char **arguments)
{
    static const struct {
        const char *name;
        int *number;
    } NUMBERS[] = {{"--brokers", &brokers}, {"--topics", &topics_in_all}, {"--partitions", &partitions}};
    for (int i = 1; i < count; i++) {
        size_t n = 0;
        while (n < sizeof NUMBERS / sizeof NUMBERS[0] && strcmp(arguments[i], NUMBERS[n].name) != 0)
            n++;
        if (n < sizeof NUMBERS / sizeof NUMBERS[0] && i + 1 < count)
            *NUMBERS[n].number = atoi(arguments[++i]);
        else if (strcmp(arguments[i], "--stuck") == 0)
            sticks = true;
        else
            die("usage: sink [--brokers N] [--topics N] [--partitions N] [--stuck]");
    }
    if (brokers < 1 || brokers > MAX_BROKERS)
        die("--brokers: 1 to %d", MAX_BROKERS);
    int listeners[MAX_BROKERS], own = 0;
    for (int i = 0; i < brokers; i++)
        listeners[i] = listen_anywhere(&ports[i]);
    for (int i = 1; i < brokers && own == 0; i++)
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* a broker ends with the first one */
            own = i;
        }
    for (int i = 0; i < brokers; i++)
        if (i != own)
            close(listeners[i]);
    if (own == 0) {
        printf("ready %d\n", ports[0]);
        fflush(stdout);
    }
    serve_for_ever(listeners[own]);
}
