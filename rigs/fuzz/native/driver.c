/* libFuzzer around an embedded Python that has loaded the instrumented native code.
 *
 *     driver --target=MODULE.NAME [--report=FILE] [libFuzzer's options] [CORPUS or FILE ...]
 *
 * MODULE is one of the harness modules; its TARGETS[NAME] is a capsule with a `Target` (`target.pxd`). A target
 * calls straight into native code and returns -1, with an exception, if its invariant does not hold.
 *
 * The driver adds the invariant that all targets share: the work and the memory for one input stay below a
 * linear function of its size. Work is counted in edges of the control flow that were passed
 * (-fsanitize-coverage=trace-pc), so a slow machine finds nothing that a fast one would not. What an input costs
 * for each of its bytes is also shown to libFuzzer as coverage: it keeps inputs that are dearer than any before.
 */

#include <Python.h>
#include <sanitizer/allocator_interface.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int (*check)(const uint8_t *data, size_t size);
    uint64_t edges, edges_a_byte;   /* bounds: so many, and so many more for each byte of the input */
    uint64_t memory, memory_a_byte; /* the same for bytes that are allocated, whether or not they are freed */
    uint64_t kept;                  /* how many bytes may be allocated still when the input is done with */
} Target;

enum { STEPS_OF_TWO = 4, BUCKETS = 64 * STEPS_OF_TWO };

static uint64_t edges, allocated;
static int64_t held;
static int is_counting;
static const Target *target;
static const char *report;
static uint64_t inputs, most_edges, most_edges_size, most_memory, most_memory_size, most_kept;
static double dearest, fattest;

/* libFuzzer reads these as it reads the counters of edges. */
__attribute__((section("__libfuzzer_extra_counters"))) static uint8_t costs[3 * BUCKETS];

/* The linker gives the modules this one for __sanitizer_cov_trace_pc. */
void __wrap___sanitizer_cov_trace_pc(void);
void __wrap___sanitizer_cov_trace_pc(void) { edges++; }

static void count_malloc(const volatile void *at, size_t size) {
    if (is_counting) {
        allocated += size;
        held += (int64_t)__sanitizer_get_allocated_size((const void *)at);
    }
}

static void count_free(const volatile void *at) {
    if (is_counting && at != NULL)
        held -= (int64_t)__sanitizer_get_allocated_size((const void *)at);
}

static void fail(const char *why) {
    is_counting = 0;
    if (PyErr_Occurred())
        PyErr_Print();
    fprintf(stderr, "%s\n", why);
    abort();
}

static void tell(void) {
    FILE *file = report == NULL ? NULL : fopen(report, "w");
    if (file == NULL)
        return;
    fprintf(file,
            "{\"inputs\": %llu, \"most_edges\": %llu, \"of_bytes\": %llu, \"edges_a_byte\": %.1f,"
            " \"most_memory\": %llu, \"memory_of_bytes\": %llu, \"memory_a_byte\": %.1f, \"most_kept\": %llu}\n",
            (unsigned long long)inputs, (unsigned long long)most_edges, (unsigned long long)most_edges_size, dearest,
            (unsigned long long)most_memory, (unsigned long long)most_memory_size, fattest,
            (unsigned long long)most_kept);
    fclose(file);
}

/* The bucket of a ratio: STEPS_OF_TWO for each power of two. */
static unsigned bucket(double ratio) {
    unsigned at = 0;
    for (double edge = 1.0 / 16; edge < ratio && at < BUCKETS - 1; at++)
        edge *= 1.189207115; /* 2 to the power of 1/4 */
    return at;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    static char name[200];
    PyConfig config;
    char *dot;
    PyObject *module, *targets, *capsule;
    for (int at = 1; at < *argc; at++) {
        if (strncmp((*argv)[at], "--target=", 9) == 0)
            snprintf(name, sizeof name, "%s", (*argv)[at] + 9);
        if (strncmp((*argv)[at], "--report=", 9) == 0)
            report = (*argv)[at] + 9;
    }
    if ((dot = strchr(name, '.')) == NULL)
        fail("--target=MODULE.NAME is missing");
    *dot = 0;
    PyConfig_InitPythonConfig(&config);
    config.install_signal_handlers = 0; /* they are libFuzzer's */
    config.parse_argv = 0;
    PyConfig_SetBytesString(&config, &config.program_name, getenv("TSPROXY_FUZZ_PYTHON"));
    if (PyStatus_Exception(Py_InitializeFromConfig(&config)))
        fail("Python does not start");
    if ((module = PyImport_ImportModule(name)) == NULL)
        fail("the harness cannot be imported");
    targets = PyObject_GetAttrString(module, "TARGETS");
    capsule = targets == NULL ? NULL : PyDict_GetItemString(targets, dot + 1);
    if (capsule == NULL || (target = PyCapsule_GetPointer(capsule, NULL)) == NULL)
        fail("no such target");
    __sanitizer_install_malloc_and_free_hooks(count_malloc, count_free);
    atexit(tell);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    double paid = (double)(size + 64);
    edges = allocated = 0;
    held = 0;
    is_counting = 1;
    int result = target->check(data, size);
    is_counting = 0;
    if (result < 0)
        fail("the invariant does not hold");
    inputs++;
    if (edges / paid > dearest)
        dearest = edges / paid, most_edges = edges, most_edges_size = size;
    if (allocated / paid > fattest)
        fattest = allocated / paid, most_memory = allocated, most_memory_size = size;
    if (held > (int64_t)most_kept)
        most_kept = (uint64_t)held;
    if (edges > target->edges + target->edges_a_byte * size) {
        fprintf(stderr, "%llu edges for %zu bytes\n", (unsigned long long)edges, size);
        fail("the input costs too much work");
    }
    if (allocated > target->memory + target->memory_a_byte * size) {
        fprintf(stderr, "%llu bytes of memory for %zu bytes\n", (unsigned long long)allocated, size);
        fail("the input costs too much memory");
    }
    if (held > (int64_t)target->kept) {
        fprintf(stderr, "%lld bytes are kept after %zu bytes\n", (long long)held, size);
        fail("the input leaves too much memory behind");
    }
    costs[bucket(edges / paid)] = 1;
    costs[BUCKETS + bucket(allocated / paid)] = 1;
    costs[2 * BUCKETS + bucket(held > 0 ? (double)held / 64 : 0)] = 1;
    if ((inputs & 0xFFFFF) == 0)
        tell();
    return 0;
}
