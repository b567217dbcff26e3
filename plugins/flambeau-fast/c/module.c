/* The kernels as Python functions, from the variant for this processor's instruction set.

Only Python's stable ABI is used, so that one build works for all versions since 3.11.  Free-threaded Python has no stable ABI:
`build.py` then leaves Py_LIMITED_API undefined, and the module declares that it needs no GIL.  Its only state that changes after
import is the thread pool's. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

#ifdef HAS_amx
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#define MOST_ARGUMENTS 16
#define LEAST_ELEMENTS 8192 /* minimum number of elements per task: some microseconds of work */

extern const Kernel kernels_amx[], kernels_avx512_bf16[], kernels_avx512[], kernels_avx2[], kernels_plain[];

#ifdef HAS_amx
#define REQUEST_STATE 0x1023 /* ARCH_REQ_XCOMP_PERM of <asm/prctl.h>, since Linux 5.16 */
#define TILE_DATA 18         /* the number of the tiles in the state of a processor */

/* Whether the processor multiplies tiles of bfloat16 and int8 (AMX), and Linux lets this process use them.  Its permission is for all
threads, also of child processes. */
static bool request_tiles(void) {
    unsigned eax, ebx, ecx, edx, enabled, high;
    if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
    const unsigned bf16 = 1u << 22, tile = 1u << 24, int8 = 1u << 25;
    if (~edx & (bf16 | tile | int8)) return false;
    __asm__("xgetbv" : "=a"(enabled), "=d"(high) : "c"(0));
    return (enabled >> (TILE_DATA - 1) & 3) == 3 && syscall(SYS_arch_prctl, REQUEST_STATE, TILE_DATA) == 0;
}
#endif

static const Kernel *choose(const char **name) {
    const char *asked = getenv("FLAMBEAU_FAST_CPU");
    *name = "plain";
#ifdef __x86_64__
    __builtin_cpu_init();
    bool any = asked == NULL || *asked == 0, avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd");
    bool avx512_bf16 = avx512 && __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vnni");
    any = any || !strcmp(asked, "amx"); /* the highest variant */
#ifdef HAS_amx
    if (avx512_bf16 && any && request_tiles()) return *name = "amx", kernels_amx;
#endif
    any = any || !strcmp(asked, "avx512_bf16");
#ifdef HAS_avx512_bf16
    if (avx512_bf16 && any) return *name = "avx512_bf16", kernels_avx512_bf16;
#endif
    any = any || !strcmp(asked, "avx512");
#ifdef HAS_avx512
    if (avx512 && any) return *name = "avx512", kernels_avx512;
#endif
    any = any || !strcmp(asked, "avx2");
#ifdef HAS_avx2
    if (avx2 && any) return *name = "avx2", kernels_avx2;
#endif
    (void)avx512_bf16, (void)avx512, (void)avx2, (void)any;
#else
    (void)asked;
#endif
    return kernels_plain;
}

/* --- calls --- */

static const char *format_of(char letter) {
    switch (letter) {
    case 'F': case 'C': case 'V': case 'R': case 'P': return "f";
    case 'D': return "d";
    case 'L': return sizeof(long) == 8 ? "l" : "q";
    case 'U': return sizeof(long) == 4 ? "L" : "I";
    case 'I': return sizeof(int) == 4 ? "i" : "l";
    case 'H': return "H";
    case 'Y': return "B";
    case 'b': return "b";
    default: return "?";
    }
}

/* The conversions of a 16-bit dtype. */
typedef struct {
    const char *format, *names[2];
    Range *to_single, *from_single;
} Half;

static Half halves[] = {{"e", {"half_to_single", "single_to_half"}, NULL, NULL},
                        {"H", {"bfloat16_to_single", "single_to_bfloat16"}, NULL, NULL}};

typedef struct {
    const Kernel *kernel;
    const Argument *arguments;
    const Half *half; /* conversions for its arrays, or NULL */
    int64_t items, step;
} Call;

#define BLOCK 1024 /* number of elements converted at a time */
#define MOST_HALVES 3

/* Run an elementwise loop on float16 or bfloat16 arrays: block by block, in float32. */
static void run_halves(const Call *call, int64_t first, int64_t last) {
    float values[MOST_HALVES][BLOCK];
    Argument block[MOST_ARGUMENTS], pair[2];
    for (int64_t start = first; start < last; start += BLOCK) {
        const int64_t count = smaller(BLOCK, last - start);
        for (int i = 0; call->kernel->signature[i]; i++) {
            block[i] = call->arguments[i];
            if (call->kernel->signature[i] != 'V') continue;
            pair[0].data = block[i].data = values[i];
            pair[1].data = (uint16_t *)call->arguments[i].data + start;
            if (i > 0) call->half->to_single(pair, 0, count);
        }
        call->kernel->range(block, 0, count);
        pair[0].data = (uint16_t *)call->arguments[0].data + start;
        pair[1].data = values[0];
        call->half->from_single(pair, 0, count);
    }
}

static void run_piece(void *context, int64_t number) {
    const Call *call = context;
    const int64_t first = number * call->step, last = smaller((number + 1) * call->step, call->items);
    if (call->half) run_halves(call, first, last);
    else call->kernel->range(call->arguments, first, last);
}

static __thread bool declined;
void decline(void) { declined = true; }

/* Whether all elements have addresses that are multiples of the element size, as C requires. */
static bool is_aligned(const Py_buffer *buffer) {
    uint64_t bits = (uintptr_t)buffer->buf;
    for (int i = 0; i < buffer->ndim; i++) bits |= buffer->shape[i] > 1 ? (uint64_t)buffer->strides[i] : 0;
    return bits % (uint64_t)buffer->itemsize == 0 || buffer->len == 0; /* sizes are powers of 2 */
}

/* Merge the first dimensions of a contiguous array so that `dims` remain; return false if it is not contiguous. */
static bool merge(Argument *argument, const Py_buffer *buffer, int dims, int64_t *shape) {
    int64_t step = buffer->itemsize;
    for (int i = buffer->ndim - 1; i >= 0; step *= buffer->shape[i--])
        if (buffer->shape[i] > 1 && buffer->strides[i] != step) return false;
    if (dims == 0) return true;
    for (int i = 0; i < dims; i++) shape[i] = 1;
    for (int i = 0; i < buffer->ndim; i++) shape[larger(0, dims - buffer->ndim + i)] *= buffer->shape[i];
    argument->shape = shape;
    argument->strides = NULL;
    return true;
}

/* Split the work into tasks of full cache lines, so that threads do not write to the same line. */
static void run(const Kernel *kernel, const Argument *arguments, const Half *half, int64_t elements) {
    if (kernel->items == WHOLE) {
        kernel->range(arguments, 0, 1);
        return;
    }
    int64_t items = arguments[kernel->items - ITEMS].shape[0];
    if (items == 0) return;
    int64_t least = pieces(LEAST_ELEMENTS * items, larger(elements, 1));
    int64_t step = larger(least, pieces(items, 8 * thread_count()));
    if (items == elements) step = pieces(step, 16) * 16;
    Call call = {kernel, arguments, half, items, step};
    parallel(pieces(items, step), run_piece, &call);
}

/* Whether an array has the dtype of its letter; arrays of an elementwise kernel may instead all be half precision. */
static bool fits(char letter, const char *format, const Half **half, bool is_first) {
    if (letter == 'V' && is_first)
        for (int i = 0; i < 2; i++)
            if (!strcmp(format, halves[i].format)) *half = &halves[i];
    return !strcmp(format, letter == 'V' && *half ? (*half)->format : format_of(letter));
}

static const int64_t nothing[4]; /* the shape, strides and memory of an absent array */

static PyObject *call(PyObject *capsule, PyObject *const *args, Py_ssize_t count) {
    const Kernel *kernel = PyCapsule_GetPointer(capsule, NULL);
    if (kernel == NULL) return NULL;
    if (count != (Py_ssize_t)strlen(kernel->signature))
        return PyErr_Format(PyExc_TypeError, "%s takes %zu arguments, not %zd", kernel->name, strlen(kernel->signature), count);
    Argument arguments[MOST_ARGUMENTS];
    Py_buffer buffers[MOST_ARGUMENTS];
    int64_t shapes[MOST_ARGUMENTS][3];
    int taken = 0;
    int64_t elements = 0;
    const Half *half = NULL;
    PyObject *result = NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        char letter = kernel->signature[i];
        if (letter == 'i') {
            arguments[i].integer = PyLong_AsLongLong(args[i]);
            if (arguments[i].integer == -1 && PyErr_Occurred()) goto done;
        } else if (letter == 'f') {
            arguments[i].number = PyFloat_AsDouble(args[i]);
            if (arguments[i].number == -1.0 && PyErr_Occurred()) goto done;
        } else if (args[i] == Py_None) {
            arguments[i] = (Argument){.data = (void *)nothing, .shape = nothing, .strides = nothing};
        } else {
            Py_buffer *buffer = &buffers[taken];
            if (PyObject_GetBuffer(args[i], buffer, PyBUF_STRIDES | PyBUF_FORMAT)) goto done;
            taken++;
            if (!is_aligned(buffer)) { /* before the format, which NumPy gives as "=f" */
                PyErr_Format(PyExc_BufferError, "%s: argument %zd is not aligned", kernel->name, i);
                goto done;
            }
            if (!fits(letter, buffer->format, &half, i == 0)) {
                PyErr_Format(PyExc_TypeError, "%s: argument %zd has elements of type '%s'", kernel->name, i, buffer->format);
                goto done;
            }
            arguments[i].data = buffer->buf;
            arguments[i].shape = (const int64_t *)buffer->shape;
            arguments[i].strides = (const int64_t *)buffer->strides;
            elements = larger(elements, buffer->len / buffer->itemsize);
            if (strchr("CVRP", letter))
                if (!merge(&arguments[i], buffer, (int)(strchr("CVRP", letter) - "CVRP"), shapes[i])) {
                    PyErr_Format(PyExc_BufferError, "%s: argument %zd is not contiguous", kernel->name, i);
                    goto done;
                }
        }
    }
    declined = false;
    hold_thread_count();
    if (kernel->items != WHOLE && elements < LEAST_ELEMENTS) run(kernel, arguments, half, elements); /* faster than releasing the GIL */
    else {
        PyThreadState *state = PyEval_SaveThread();
        run(kernel, arguments, half, elements);
        PyEval_RestoreThread(state);
    }
    if (declined) PyErr_Format(PyExc_BufferError, "%s: declined", kernel->name);
    else result = Py_NewRef(Py_None);
done:
    while (taken) PyBuffer_Release(&buffers[--taken]);
    return result;
}

/* --- the module --- */

static PyObject *py_thread_count(PyObject *module, PyObject *none) { return PyLong_FromLong(hold_thread_count()); }

static PyObject *py_set_thread_count(PyObject *module, PyObject *count) {
    long value = PyLong_AsLong(count);
    if (value == -1 && PyErr_Occurred()) return NULL;
    set_thread_count((int)smaller(value, 1024));
    return Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {
    {"thread_count", py_thread_count, METH_NOARGS, "The number of threads that share loops."},
    {"set_thread_count", py_set_thread_count, METH_O, "Let loops use so many threads."},
    {NULL, NULL, 0, NULL},
};
static PyMethodDef definition = {"kernel", (PyCFunction)(void (*)(void))call, METH_FASTCALL, NULL};
static struct PyModuleDef module_definition = {PyModuleDef_HEAD_INIT, "_kernels", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__kernels(void) {
    PyObject *module = PyModule_Create(&module_definition), *names = PyList_New(0);
    if (module == NULL || names == NULL) return NULL;
#ifdef Py_GIL_DISABLED
    if (PyUnstable_Module_SetGIL(module, Py_MOD_GIL_NOT_USED)) return NULL;
#endif
    const char *processor;
    for (const Kernel *kernel = choose(&processor); kernel->name; kernel++) {
        PyObject *capsule = PyCapsule_New((void *)kernel, NULL, NULL);
        PyObject *function = capsule ? PyCFunction_NewEx(&definition, capsule, NULL) : NULL;
        PyObject *name = PyUnicode_FromString(kernel->name);
        if (function == NULL || name == NULL || PyList_Append(names, name)) return NULL;
        Py_DECREF(capsule);
        Py_DECREF(name);
        if (PyModule_AddObject(module, kernel->name, function)) return NULL;
        for (int i = 0; i < 2; i++) {
            if (!strcmp(kernel->name, halves[i].names[0])) halves[i].to_single = kernel->range;
            if (!strcmp(kernel->name, halves[i].names[1])) halves[i].from_single = kernel->range;
        }
    }
    if (PyModule_AddObject(module, "names", names) || PyModule_AddStringConstant(module, "processor", processor)) return NULL;
    return module;
}
