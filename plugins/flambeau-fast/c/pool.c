/* A thread pool for parallel loops.  Idle threads spin for some microseconds, since a training step soon starts the next loop, and
then sleep, so that an idle program uses no CPU time.

Only one loop is parallel at a time: a second caller runs its loop alone, as do nested loops.  The caller takes tasks from the first
on, and the other threads from the last on, so that a thread works on the same part of the data in each loop.  The caller waits only
for threads that have entered the loop, so that a suspended thread delays nobody.  After a fork, the child process has only the
forking thread, and starts new ones when needed. */

#include "pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#define MOST_THREADS 256
#define USES 8
#define NANOSECONDS_OF_LOOKING 200000

static _Atomic int wanted = 1; /* number of threads, including the caller */
static int started = 0;        /* other threads; changed while holding `busy` */
static pthread_mutex_t busy, asleep;
static pthread_cond_t wake;
static _Atomic int sleepers;

/* The current loop.  Its number, whether threads may enter, and how many have, are packed into one word, to change atomically. */
static struct {
    void (*task)(void *, int64_t);
    void *context;
    int64_t count;
    int threads; /* the caller's `held` */
} shared_loop;
#define ENTERED UINT64_C(0xffff)
#define OPEN UINT64_C(0x10000)
#define NUMBER(state) ((state) >> 17)
static _Atomic uint64_t state;
static _Atomic int64_t taken, first_tasks, last_tasks; /* number of tasks begun: all, by the caller, by the other threads */

static __thread bool inside; /* this thread is running a task */
static __thread int held = 1; /* thread count of this thread's kernel call: kernels split work by it more than once */

static void rest(void) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

static int64_t nanoseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void take_tasks(bool is_caller) {
    inside = true;
    held = shared_loop.threads;
    while (atomic_fetch_add(&taken, 1) < shared_loop.count) {
        const int64_t number = is_caller ? atomic_fetch_add(&first_tasks, 1) : shared_loop.count - 1 - atomic_fetch_add(&last_tasks, 1);
        shared_loop.task(shared_loop.context, number);
    }
    inside = false;
}

static bool is_new(uint64_t now, uint64_t last) { return (now & OPEN) && NUMBER(now) != last; }

static uint64_t wait_for_loop(uint64_t last) {
    uint64_t now;
    for (int64_t until = nanoseconds() + NANOSECONDS_OF_LOOKING; nanoseconds() < until;)
        for (int i = 0; i < 64; i++, rest())
            if (is_new(now = atomic_load_explicit(&state, memory_order_acquire), last)) return now;
    pthread_mutex_lock(&asleep);
    atomic_fetch_add(&sleepers, 1);
    while (!is_new(now = atomic_load(&state), last)) pthread_cond_wait(&wake, &asleep);
    atomic_fetch_sub(&sleepers, 1);
    pthread_mutex_unlock(&asleep);
    return now;
}

static void *help(void *number) {
    for (uint64_t last = 0;;) {
        uint64_t now = wait_for_loop(last);
        if ((intptr_t)number < wanted - 1) {
            if (!atomic_compare_exchange_strong(&state, &now, now + 1)) continue; /* another thread entered, or the loop has ended */
            take_tasks(false);
            atomic_fetch_sub(&state, 1);
        }
        last = NUMBER(now);
    }
    return NULL;
}

static void start_threads(void) {
    pthread_attr_t detached;
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    for (pthread_t thread; started < wanted - 1; started++)
        if (pthread_create(&thread, &detached, help, (void *)(intptr_t)started)) break;
    pthread_attr_destroy(&detached);
}

void parallel(int64_t count, void (*task)(void *, int64_t), void *context) {
    if (count < 2 || wanted < 2 || inside || pthread_mutex_trylock(&busy)) {
        for (int64_t number = 0; number < count; number++) task(context, number);
        return;
    }
    if (started < wanted - 1) start_threads();
    shared_loop.task = task, shared_loop.context = context, shared_loop.count = count;
    shared_loop.threads = held;
    atomic_store(&taken, 0), atomic_store(&first_tasks, 0), atomic_store(&last_tasks, 0);
    atomic_store(&state, ((NUMBER(atomic_load(&state)) + 1) << 17) | OPEN);
    if (atomic_load(&sleepers)) {
        pthread_mutex_lock(&asleep);
        pthread_cond_broadcast(&wake);
        pthread_mutex_unlock(&asleep);
    }
    take_tasks(true);
    atomic_fetch_and(&state, ~OPEN);
    for (int64_t looks = 0; atomic_load_explicit(&state, memory_order_acquire) & ENTERED; looks++)
        if (looks % 1024 == 1023) sched_yield();
        else rest();
    pthread_mutex_unlock(&busy);
}

int thread_count(void) { return held; }

int hold_thread_count(void) { return held = wanted; }

void set_thread_count(int count) { wanted = count < 1 ? 1 : count > MOST_THREADS ? MOST_THREADS : count; }

static void begin(void) {
    pthread_mutex_init(&busy, NULL);
    pthread_mutex_init(&asleep, NULL);
    pthread_cond_init(&wake, NULL);
    started = 0;
    atomic_store(&sleepers, 0);
    atomic_store(&state, 0);
}

__attribute__((constructor)) static void load(void) {
    begin();
    pthread_atfork(NULL, NULL, begin);
}

/* --- memory --- */

static __thread struct {
    void *memory;
    size_t size;
} own[USES];

void *scratch(int use, size_t size) {
    if (own[use].size < size) {
        free(own[use].memory);
        size_t rounded = (size + 4095) / 4096 * 4096;
        own[use].size = posix_memalign(&own[use].memory, 64, rounded) ? 0 : rounded;
        if (own[use].size == 0) abort(); /* like the interpreter when it runs out of memory */
    }
    return own[use].memory;
}
