/* The load of many Kafka producers or consumers: the same requests again and again.
 *
 *     generator --port P --frames FILE --connections C --in-flight I
 *               [--warm-up N] [--requests N] [--seconds S] [--rate R] [--expect CODE] [--patience S] [--ca PEM]
 *               [--user NAME --password TEXT]
 *
 * FILE contains requests as they are on the wire, with their size prefix. The first ones open a connection
 * (ApiVersions, Metadata, ...): each is sent once, and the next one after its answer. Then come Produce
 * requests of v8 to v12 with acks other than 0, or Fetch requests of v11 or v12, which are sent in turn without
 * end. The generator writes only the correlation id into them.
 *
 * Steps: it opens C connections to 127.0.0.1:P, sends N warm-up requests on each and prints `ready`. A line on
 * standard input starts the load. It prints one line of JSON when every answer has arrived. Connections stay
 * open until standard input ends.
 *
 * The load is N requests per connection or S seconds, whichever ends first, or until another line on standard input.
 * Closed loop: each connection keeps
 * I requests in flight. Open loop (--rate): R requests a second in total, in turn over the connections, each
 * at a fixed time. Latency is measured from that time, even if the request had to wait because I requests were
 * in flight. So a stall counts for all requests that it delays.
 *
 * It checks every answer: the correlation id, and error code CODE (0) for every partition. A partition of a
 * Fetch answer must have records. The first wrong answer, or a closed connection, ends the program with exit code 1 and one line on standard error. Answers
 * that have not arrived S (--patience, 10) seconds after the load are reported as `unanswered`.
 *
 * --ca names the authority to trust and switches TLS on. --user logs in by SCRAM-SHA-256.
 */
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#include "latency.h"
#include "login.h"
#include "stream.h"
#include "wire.h"

enum { STAGE_BYTES = 128 << 10, READ_BYTES = 64 << 10, EVENTS = 256 };

static struct {
    int port, connections, in_flight, expected_code;
    int64_t warm_up, requests;
    double seconds, rate, patience_s;
    const char *frames, *ca;
} options = {.connections = 1, .in_flight = 1, .requests = 1000000000000, .seconds = 1e6, .patience_s = 10};

/* The requests. */

struct frame {
    const uint8_t *bytes;
    size_t size;
    int api_key, version;
};

static struct frame *frames;
static int64_t frames_count, opening_count;

static void load_frames(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct buffer all = {0};
    size_t size;
    if (file == NULL)
        die("%s: %s", path, strerror(errno));
    while ((size = fread(reserve(&all, 1 << 20), 1, 1 << 20, file)) > 0)
        all.end += size;
    fclose(file);
    while ((size = frame_size(&all)) != 0) {
        struct cursor c = {all.bytes + all.start, all.bytes + all.end};
        struct frame frame = {.bytes = take_bytes(&c, size), .size = size};
        if (size < SMALLEST_REQUEST)
            die("%s: a request of %zu bytes", path, size);
        c.at = frame.bytes + SIZE_BYTES;
        frame.api_key = (int)take(&c, 2);
        frame.version = (int)take(&c, 2);
        frames = realloc(frames, (size_t)(frames_count + 1) * sizeof *frames);
        frames[frames_count++] = frame;
        opening_count += frame.api_key != PRODUCE && frame.api_key != FETCH;
        all.start += size;
    }
    if (opening_count == frames_count)
        die("%s: no Produce or Fetch request", path);
}

/* Request number n of a connection; n is its correlation id, too. */
static const struct frame *frame_of(int64_t n)
{
    int64_t repeated = n - opening_count;
    return &frames[repeated < 0 ? n : opening_count + repeated % (frames_count - opening_count)];
}

/* A connection. */

struct connection {
    struct stream stream;
    bool wants_to_write; /* the socket is full */
    int64_t quota;       /* requests that it may still begin */
    int64_t begun, answered;
    size_t frame_staged; /* bytes of request `begun` that are in `out` already */
    int64_t *due_ns;     /* when each request in flight was due, by its number modulo in_flight */
    int64_t next_due;    /* open loop: the number of this connection's next fixed time */
    struct buffer out, in;
};

static struct connection *connections;
static int epoll, timer;
static int64_t in_flight_in_all, quota_in_all, produced_bytes, load_begins_ns;
static bool is_measuring, is_stopped;
static struct latencies latencies;

static int64_t appointment_ns(const struct connection *connection, int64_t n)
{
    double slot = (double)n * options.connections + (double)(connection - connections);
    return load_begins_ns + (int64_t)(slot * 1e9 / options.rate);
}

/* Copies what may be sent into `out`, so that many small requests leave in one write, with TLS or without. */
static void stage(struct connection *connection)
{
    struct buffer *out = &connection->out;
    while (out->end - out->start < STAGE_BYTES) {
        const struct frame *frame = frame_of(connection->begun);
        if (connection->frame_staged == 0) {
            if (connection->quota == 0 || connection->begun - connection->answered >= options.in_flight)
                return;
            bool by_appointment = is_measuring && options.rate > 0;
            connection->due_ns[connection->begun % options.in_flight] =
                by_appointment ? appointment_ns(connection, connection->next_due++) : now_ns();
            in_flight_in_all++;
            quota_in_all--;
            connection->quota--;
        }
        size_t room = STAGE_BYTES - (out->end - out->start), left = frame->size - connection->frame_staged;
        size_t size = left < room ? left : room;
        if (connection->frame_staged == 0 && size < CORRELATION_ID_AT + 4) /* keep the header in one piece */
            size = CORRELATION_ID_AT + 4;
        size_t before = out->end - out->start;
        put_bytes(out, frame->bytes + connection->frame_staged, size);
        if (connection->frame_staged == 0)
            store(out->bytes + out->start + before + CORRELATION_ID_AT, connection->begun, 4);
        connection->frame_staged += size;
        if (connection->frame_staged == frame->size) {
            connection->frame_staged = 0;
            connection->begun++;
            produced_bytes += is_measuring ? (int64_t)frame->size : 0;
        }
    }
}

static void watch(int operation, struct connection *connection)
{
    uint32_t events = EPOLLIN | (connection->wants_to_write ? EPOLLOUT : 0);
    struct epoll_event event = {.events = events, .data.ptr = connection};
    if (epoll_ctl(epoll, operation, connection->stream.fd, &event) < 0)
        die("epoll_ctl: %s", strerror(errno));
}

static void send_what_may_go(struct connection *connection)
{
    bool is_full = false;
    while (!is_full) {
        stage(connection);
        if (connection->out.start == connection->out.end)
            break;
        struct buffer *out = &connection->out;
        size_t size = stream_write(&connection->stream, out->bytes + out->start, out->end - out->start);
        drop(out, size);
        is_full = size == 0;
    }
    if (is_full != connection->wants_to_write) {
        connection->wants_to_write = is_full;
        watch(EPOLL_CTL_MOD, connection);
    }
}

/* Answers. */

static void check_produce_answer(struct cursor c, int version, int64_t number)
{
    bool flexible = is_flexible(PRODUCE, version);
    skip_tags(&c, flexible);
    for (int64_t topics = take_length(&c, flexible, 4); topics > 0; topics--) {
        take_string(&c, flexible, 2);
        for (int64_t left = take_length(&c, flexible, 4); left > 0; left--) {
            int64_t partition = take(&c, 4), code = take(&c, 2);
            take_bytes(&c, 24); /* base_offset, log_append_time_ms, log_start_offset */
            for (int64_t errors = take_length(&c, flexible, 4); errors > 0; errors--) {
                take(&c, 4);
                take_string(&c, flexible, 2);
                skip_tags(&c, flexible);
            }
            struct string message = take_string(&c, flexible, 2);
            skip_tags(&c, flexible);
            if (code != options.expected_code)
                die("request %lld, partition %lld: error code %lld (%.*s), not %d", (long long)number,
                    (long long)partition, (long long)code, message.size > 0 ? (int)message.size : 0,
                    (const char *)message.bytes, options.expected_code);
        }
        skip_tags(&c, flexible);
    }
}

static void check_fetch_answer(struct cursor c, int version, int64_t number)
{
    bool flexible = is_flexible(FETCH, version);
    skip_tags(&c, flexible);
    take(&c, 4); /* throttle_time_ms */
    int64_t code = take(&c, 2);
    take(&c, 4); /* session_id */
    for (int64_t topics = take_length(&c, flexible, 4); topics > 0; topics--) {
        take_string(&c, flexible, 2);
        for (int64_t left = take_length(&c, flexible, 4); left > 0; left--) {
            int64_t partition = take(&c, 4);
            int64_t own = take(&c, 2);
            code = code != 0 ? code : own;
            take_bytes(&c, 24); /* high_watermark, last_stable_offset, log_start_offset */
            for (int64_t aborted = take_length(&c, flexible, 4); aborted > 0; aborted--) {
                take_bytes(&c, 16);
                skip_tags(&c, flexible);
            }
            take(&c, 4); /* preferred_read_replica */
            struct string records = take_string(&c, flexible, 4);
            skip_tags(&c, flexible);
            if (code != options.expected_code || records.size <= 0)
                die("request %lld, partition %lld: error code %lld, not %d, and %lld bytes of records",
                    (long long)number, (long long)partition, (long long)code, options.expected_code,
                    (long long)records.size);
        }
        skip_tags(&c, flexible);
    }
    if (code != options.expected_code)
        die("request %lld: error code %lld, not %d", (long long)number, (long long)code, options.expected_code);
}

static void take_answer(struct connection *connection, struct cursor c, int64_t at_ns)
{
    int64_t number = connection->answered;
    const struct frame *request = frame_of(number);
    take(&c, SIZE_BYTES);
    int64_t correlation_id = take(&c, 4);
    if (correlation_id != number || number >= connection->begun)
        die("an answer with correlation id %lld came in place of %lld", (long long)correlation_id,
            (long long)number);
    if (request->api_key == PRODUCE)
        check_produce_answer(c, request->version, number);
    if (request->api_key == FETCH)
        check_fetch_answer(c, request->version, number);
    if (is_measuring)
        book(&latencies, at_ns - connection->due_ns[number % options.in_flight]);
    connection->answered++;
    in_flight_in_all--;
}

static void receive_what_came(struct connection *connection)
{
    struct buffer *in = &connection->in;
    size_t size;
    do {
        uint8_t *to = reserve(in, READ_BYTES);
        size = stream_read(&connection->stream, to, READ_BYTES);
        in->end += size;
        int64_t at_ns = now_ns();
        size_t whole;
        while ((whole = frame_size(in)) != 0 && whole <= in->end - in->start) {
            take_answer(connection, (struct cursor){in->bytes + in->start, in->bytes + in->start + whole}, at_ns);
            drop(in, whole);
        }
        /* A short read means that the socket is empty; but TLS returns one record at a time. */
    } while (size == READ_BYTES || (size > 0 && connection->stream.tls != NULL));
}

/* The load. */

static void allow(struct connection *connection, int64_t requests)
{
    connection->quota += requests;
    quota_in_all += requests;
}

static void forbid_more(void)
{
    for (int i = 0; i < options.connections; i++)
        connections[i].quota = 0;
    quota_in_all = 0;
}

/* Open loop: sends every request that is due, and sets the timer for the next one. */
static void keep_appointments(int64_t *slot, int64_t slots)
{
    for (; *slot < slots; ++*slot) {
        int64_t due_ns = load_begins_ns + (int64_t)((double)*slot * 1e9 / options.rate);
        if (due_ns > now_ns()) {
            struct itimerspec alarm = {.it_value = {due_ns / 1000000000, due_ns % 1000000000}};
            timerfd_settime(timer, TFD_TIMER_ABSTIME, &alarm, NULL);
            return;
        }
        struct connection *connection = &connections[*slot % options.connections];
        allow(connection, 1);
        send_what_may_go(connection);
    }
}

static void wait_and_serve(void)
{
    struct epoll_event events[EVENTS];
    int ready = epoll_wait(epoll, events, EVENTS, 20);
    for (int i = 0; i < ready; i++) {
        struct connection *connection = events[i].data.ptr;
        if (events[i].data.ptr == &is_stopped) { /* standard input */
            char line[16];
            is_stopped = true;
            if (epoll_ctl(epoll, EPOLL_CTL_DEL, STDIN_FILENO, NULL) == 0 && fgets(line, sizeof line, stdin) == NULL)
                exit(0);
            continue;
        }
        if (connection == NULL) { /* the timer */
            uint64_t expirations;
            if (read(timer, &expirations, sizeof expirations) < 0 && errno != EAGAIN)
                die("timer: %s", strerror(errno));
            continue;
        }
        if (events[i].events & ~(uint32_t)EPOLLOUT)
            receive_what_came(connection);
        send_what_may_go(connection);
    }
}

/* Sends `requests` on each connection and reads all answers; returns how many did not arrive in time. */
static int64_t run(int64_t requests, double seconds)
{
    int64_t slot = 0, slots = 0;
    load_begins_ns = now_ns();
    int64_t stop_ns = load_begins_ns + (int64_t)(seconds * 1e9);
    int64_t give_up_ns = stop_ns + (int64_t)(options.patience_s * 1e9);
    if (is_measuring && options.rate > 0) {
        double by_time = seconds * options.rate;
        slots = requests > (int64_t)by_time / options.connections ? (int64_t)by_time : requests * options.connections;
    } else {
        for (int i = 0; i < options.connections; i++) {
            allow(&connections[i], requests);
            send_what_may_go(&connections[i]);
        }
    }
    for (;;) {
        keep_appointments(&slot, slots);
        if (slot == slots && quota_in_all == 0 && in_flight_in_all == 0)
            return 0;
        wait_and_serve();
        int64_t now = now_ns();
        if (is_stopped && slots > 0)
            slots = slot; /* what was due by now is still sent, however late */
        else if ((is_stopped || now >= stop_ns) && slots == 0 && quota_in_all > 0)
            forbid_more();
        if (now >= give_up_ns)
            return in_flight_in_all + quota_in_all + (slots - slot);
    }
}

static void log_in(struct connection *connection)
{
    struct login login = {0};
    struct buffer *in = &connection->in, *out = &connection->out;
    struct pollfd waits = {.fd = connection->stream.fd, .events = POLLIN};
    while (login_goes_on(&login, (struct cursor){in->bytes + in->start, in->bytes + in->end}, out)) {
        in->start = in->end = 0;
        while (out->start < out->end)
            drop(out, stream_write(&connection->stream, out->bytes + out->start, out->end - out->start));
        while (in->end == 0 || frame_size(in) != in->end) { /* one answer comes for one request */
            size_t size = stream_read(&connection->stream, reserve(in, READ_BYTES), READ_BYTES);
            in->end += size;
            if (size == 0)
                poll(&waits, 1, -1);
        }
    }
    in->start = in->end = 0;
}

static void open_connections(void)
{
    connections = calloc((size_t)options.connections, sizeof *connections);
    for (int i = 0; i < options.connections; i++) {
        connections[i].due_ns = calloc((size_t)options.in_flight, sizeof(int64_t));
        connections[i].stream = stream_to(options.port, options.ca != NULL);
        log_in(&connections[i]);
        watch(EPOLL_CTL_ADD, &connections[i]);
    }
}

static void read_options(int count, char **arguments)
{
    static const struct option NAMES[] = {
        {"port", 1, NULL, 'p'},     {"frames", 1, NULL, 'f'},   {"connections", 1, NULL, 'c'},
        {"in-flight", 1, NULL, 'i'}, {"warm-up", 1, NULL, 'w'},  {"requests", 1, NULL, 'n'},
        {"seconds", 1, NULL, 's'},  {"rate", 1, NULL, 'r'},     {"expect", 1, NULL, 'e'},
        {"patience", 1, NULL, 'q'}, {"ca", 1, NULL, 't'},       {"user", 1, NULL, 'u'},
        {"password", 1, NULL, 'd'}, {NULL, 0, NULL, 0},
    };
    int letter;
    while ((letter = getopt_long(count, arguments, "", NAMES, NULL)) != -1) {
        switch (letter) {
        case 'p': options.port = atoi(optarg); break;
        case 'f': options.frames = optarg; break;
        case 'c': options.connections = atoi(optarg); break;
        case 'i': options.in_flight = atoi(optarg); break;
        case 'w': options.warm_up = atoll(optarg); break;
        case 'n': options.requests = atoll(optarg); break;
        case 's': options.seconds = atof(optarg); break;
        case 'r': options.rate = atof(optarg); break;
        case 'e': options.expected_code = atoi(optarg); break;
        case 'q': options.patience_s = atof(optarg); break;
        case 't': options.ca = optarg; break;
        case 'u': login_user = optarg; break;
        case 'd': login_password = optarg; break;
        default: exit(2);
        }
    }
    if (options.frames == NULL || options.connections < 1 || options.in_flight < 1)
        die("--port, --frames, --connections and --in-flight are needed");
}

static void print_result(double seconds, int64_t unanswered)
{
    printf("{\"requests\": %lld, \"bytes\": %lld, \"seconds\": %.6f, \"unanswered\": %lld, "
           "\"p50_us\": %.1f, \"p99_us\": %.1f, \"p999_us\": %.1f, \"max_us\": %.1f}\n",
           (long long)latencies.count, (long long)produced_bytes, seconds, (long long)unanswered,
           quantile_us(&latencies, 0.5), quantile_us(&latencies, 0.99), quantile_us(&latencies, 0.999),
           (double)latencies.highest_ns / 1e3);
    fflush(stdout);
}

int main(int count, char **arguments)
{
    char line[16];
    read_options(count, arguments);
    setvbuf(stdin, NULL, _IONBF, 0); /* what is buffered, epoll does not see */
    signal(SIGPIPE, SIG_IGN);        /* OpenSSL writes without MSG_NOSIGNAL */
    load_frames(options.frames);
    if (options.ca != NULL)
        trust(options.ca);
    epoll = epoll_create1(0);
    timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    struct epoll_event event = {.events = EPOLLIN}; /* a null pointer is the timer */
    if (epoll_ctl(epoll, EPOLL_CTL_ADD, timer, &event) < 0)
        die("epoll_ctl: %s", strerror(errno));
    open_connections();
    for (int64_t i = 0; i < opening_count; i++) /* one after the other, as a client opens its connection */
        if (run(1, 10) != 0)
            die("no answer to an opening request");
    if (options.warm_up > 0 && run(options.warm_up, 10 * options.seconds) != 0)
        die("the warm-up was not answered");
    puts("ready");
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) == NULL)
        return 0;
    is_measuring = true;
    struct epoll_event stop = {.events = EPOLLIN, .data.ptr = &is_stopped};
    epoll_ctl(epoll, EPOLL_CTL_ADD, STDIN_FILENO, &stop);
    int64_t begun_ns = now_ns();
    int64_t unanswered = run(options.requests, options.seconds);
    print_result((double)(now_ns() - begun_ns) / 1e9, unanswered);
    while (fgets(line, sizeof line, stdin) != NULL)
        continue;
    return 0;
}
