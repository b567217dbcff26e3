/* Threads that share loops. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Call `task(context, number)` for each number below `count`, on several threads where there are any to spare. */
void parallel(int64_t count, void (*task)(void *context, int64_t number), void *context);
int thread_count(void);
void set_thread_count(int count);

/* Memory of this thread, at least `size` bytes, aligned to cache lines; each `use` has its own, valid until its next request. */
void *scratch(int use, size_t size);
