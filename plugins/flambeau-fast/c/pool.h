/* A thread pool for parallel loops. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Call `task(context, number)` for each number below `count`, on several threads if they are free. */
void parallel(int64_t count, void (*task)(void *context, int64_t number), void *context);
/* Return the number of threads, which is constant during a kernel call: from one `hold_thread_count` to the next. */
int thread_count(void);
int hold_thread_count(void);
void set_thread_count(int count);

/* Return this thread's scratch memory of at least `size` bytes, aligned to cache lines; valid until the next request for the
same `use`. */
void *scratch(int use, size_t size);
