// CUDA kernels, compiled on first use.  T is float or double; callers convert half precision to float.
//
// Kernels whose threads cooperate within a block (softmax) are correct for every block size, even one thread.
// In the other kernels, each thread processes separate elements.

typedef long long Int;
typedef unsigned long long Wide;
typedef unsigned int Word;

#define THIS_THREAD (Int(blockIdx.x) * blockDim.x + threadIdx.x)
#define ALL_THREADS (Int(gridDim.x) * blockDim.x)
#define FOR_EACH(i, count) for (Int i = THIS_THREAD; i < (count); i += ALL_THREADS)

const int LARGEST_BLOCK = 256;

// --- softmax: one block per row -------------------------------------------------------------------------------------

struct Largest {
    template <typename T> static __device__ T join(T a, T b) { return a > b || a != a ? a : b; }
};

struct Sum {
    template <typename T> static __device__ T join(T a, T b) { return a + b; }
};

// Reduces the values of all threads of the block with `How::join`, and returns the result to all of them.
template <typename How, typename T> __device__ T over_block(T mine) {
    __shared__ T parts[LARGEST_BLOCK];
    parts[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) parts[threadIdx.x] = How::join(parts[threadIdx.x], parts[threadIdx.x + step]);
        __syncthreads();
    }
    T all = parts[0];
    __syncthreads();
    return all;
}

// Softmax (log-softmax if LOG) of a row of `length` elements with stride `inner`; each block computes one row.
template <typename T, bool LOG> __global__ void softmax(const T* input, T* out, Int length, Int inner) {
    Int start = blockIdx.x / inner * length * inner + blockIdx.x % inner;
    input += start;
    out += start;
    T largest = input[0];
    for (Int i = threadIdx.x; i < length; i += blockDim.x) largest = Largest::join(input[i * inner], largest);
    largest = over_block<Largest>(largest);
    T total = 0;
    for (Int i = threadIdx.x; i < length; i += blockDim.x) total += exp(input[i * inner] - largest);
    total = over_block<Sum>(total);
    T log_total = log(total);
    for (Int i = threadIdx.x; i < length; i += blockDim.x) {
        T shifted = input[i * inner] - largest;
        out[i * inner] = LOG ? shifted - log_total : exp(shifted) / total;
    }
}

template <typename T, bool LOG>
__global__ void softmax_backward(const T* grad, const T* result, T* out, Int length, Int inner) {
    Int start = blockIdx.x / inner * length * inner + blockIdx.x % inner;
    grad += start;
    result += start;
    out += start;
    T total = 0;
    for (Int i = threadIdx.x; i < length; i += blockDim.x) total += LOG ? grad[i * inner] : grad[i * inner] * result[i * inner];
    total = over_block<Sum>(total);
    for (Int i = threadIdx.x; i < length; i += blockDim.x) {
        T slope = LOG ? exp(result[i * inner]) : result[i * inner];
        out[i * inner] = LOG ? grad[i * inner] - slope * total : slope * (grad[i * inner] - total);
    }
}

// --- cross entropy ----------------------------------------------------------------------------------------------------

// Returns a class index; an index out of bounds aborts the kernel, like a failed assertion.
__device__ inline Int checked(Int target, Int classes) {
    if (target < 0 || target >= classes) __trap();
    return target;
}

// Shapes: input (batch, classes, inner), log-sum-exp in two parts (batch, 2, inner), targets (batch, inner).
// If `log_sum` is null, the input contains log-probabilities.
template <typename T>
__global__ void cross_entropy(const T* input, const T* log_sum, const Int* target, const T* weight, T* losses, T* weights,
                              Int count, Int classes, Int inner, Int ignored) {
    FOR_EACH(i, count) {
        if (target[i] == ignored) {
            losses[i] = weights[i] = 0;
            continue;
        }
        Int chosen = checked(target[i], classes);
        T scale = weight ? weight[chosen] : T(1);
        T value = input[(i / inner * classes + chosen) * inner + i % inner];
        if (log_sum) {
            const T* parts = log_sum + i / inner * 2 * inner + i % inner;
            value = value - parts[0] - parts[inner];
        }
        weights[i] = scale;
        losses[i] = scale == 0 ? T(0) : -value * scale;
    }
}

// `grad` is the gradient of each sample's loss, divided by the total weight if the losses are averaged.
template <typename T>
__global__ void cross_entropy_backward(const T* grad, const T* input, const T* log_sum, const Int* target, const T* weight, T* out,
                                       Int count, Int classes, Int inner, Int ignored) {
    FOR_EACH(i, count * classes) {
        Int batch = i / (classes * inner), sample = batch * inner + i % inner, here = i / inner % classes, chosen = target[sample];
        if (chosen == ignored) {
            out[i] = 0;
            continue;
        }
        T scale = grad[sample] * (weight ? weight[checked(chosen, classes)] : T(1));
        const T* parts = log_sum + batch * 2 * inner + i % inner;
        out[i] = scale * (exp(input[i] - parts[0] - parts[inner]) - (here == chosen ? T(1) : T(0)));
    }
}

// --- pooling ----------------------------------------------------------------------------------------------------------

// The geometry of pooling windows over three spatial dimensions; missing dimensions have size 1.
struct Windows {
    int space[3], size[3], window[3], stride[3], padding[3], dilation[3];
};

// Returns the position of a window's maximum in the flattened space of one channel; NaN counts as the maximum.
template <typename T> __device__ Int largest_in_window(const T* channel, Int spot, const Windows& w) {
    int z = int(spot / w.size[2] / w.size[1]), y = int(spot / w.size[2] % w.size[1]), x = int(spot % w.size[2]);
    Int found = -1;
    T best = 0;
    for (int c = 0; c < w.window[0]; ++c) {
        int d = z * w.stride[0] - w.padding[0] + c * w.dilation[0];
        if (d < 0 || d >= w.space[0]) continue;
        for (int b = 0; b < w.window[1]; ++b) {
            int h = y * w.stride[1] - w.padding[1] + b * w.dilation[1];
            if (h < 0 || h >= w.space[1]) continue;
            for (int a = 0; a < w.window[2]; ++a) {
                int v = x * w.stride[2] - w.padding[2] + a * w.dilation[2];
                if (v < 0 || v >= w.space[2]) continue;
                Int place = (Int(d) * w.space[1] + h) * w.space[2] + v;
                T value = channel[place];
                if (found < 0 || value > best || value != value) {
                    best = value;
                    found = place;
                }
            }
        }
    }
    return found;
}

template <typename T> __global__ void max_pool(const T* input, T* out, Int* indices, Int count, const Windows* windows) {
    const Windows& w = *windows;
    Int spots = Int(w.size[0]) * w.size[1] * w.size[2], space = Int(w.space[0]) * w.space[1] * w.space[2];
    FOR_EACH(i, count) {
        const T* channel = input + i / spots * space;
        Int place = largest_in_window(channel, i % spots, w);
        if (out) out[i] = channel[place];
        if (indices) indices[i] = place;
    }
}

// `out` must contain zeros.
template <typename T> __global__ void max_pool_backward(const T* grad, const T* input, T* out, Int count, const Windows* windows) {
    const Windows& w = *windows;
    Int spots = Int(w.size[0]) * w.size[1] * w.size[2], space = Int(w.space[0]) * w.space[1] * w.space[2];
    FOR_EACH(i, count) {
        Int channel = i / spots * space;
        atomicAdd(out + channel + largest_in_window(input + channel, i % spots, w), grad[i]);
    }
}

// Returns the divisor of a window's sum: elements in the padding count if `padded`, those beyond the padding never.
__device__ inline int window_count(const Windows& w, int z, int y, int x, bool padded, Int divisor) {
    if (divisor) return int(divisor);
    int spot[3] = {z, y, x}, count = 1;
    for (int k = 0; k < 3; ++k) {
        int start = spot[k] * w.stride[k] - w.padding[k], end = min(start + w.window[k], w.space[k] + w.padding[k]);
        if (!padded) {
            start = max(start, 0);
            end = min(end, w.space[k]);
        }
        count *= end - start;
    }
    return count;
}

template <typename T>
__global__ void avg_pool(const T* input, T* out, Int count, const Windows* windows, bool padded, Int divisor) {
    const Windows& w = *windows;
    Int spots = Int(w.size[0]) * w.size[1] * w.size[2], space = Int(w.space[0]) * w.space[1] * w.space[2];
    FOR_EACH(i, count) {
        const T* channel = input + i / spots * space;
        int x = int(i % w.size[2]), y = int(i / w.size[2] % w.size[1]), z = int(i / w.size[2] / w.size[1] % w.size[0]);
        T total = 0;
        for (int d = max(z * w.stride[0] - w.padding[0], 0); d < min(z * w.stride[0] - w.padding[0] + w.window[0], w.space[0]); ++d)
            for (int h = max(y * w.stride[1] - w.padding[1], 0); h < min(y * w.stride[1] - w.padding[1] + w.window[1], w.space[1]); ++h)
                for (int v = max(x * w.stride[2] - w.padding[2], 0); v < min(x * w.stride[2] - w.padding[2] + w.window[2], w.space[2]); ++v)
                    total += channel[(Int(d) * w.space[1] + h) * w.space[2] + v];
        out[i] = total / T(window_count(w, z, y, x, padded, divisor));
    }
}

// Return the first and the last window along dimension k that contain the element at `place`.
__device__ inline int first_window(const Windows& w, int k, int place) {
    int reach = place + w.padding[k] - w.window[k];
    return reach < 0 ? 0 : reach / w.stride[k] + 1;
}

__device__ inline int last_window(const Windows& w, int k, int place) {
    return min((place + w.padding[k]) / w.stride[k], w.size[k] - 1);
}

// Each input element sums the gradients of the windows that contain it: without atomics, the result is deterministic.
template <typename T>
__global__ void avg_pool_backward(const T* grad, T* out, Int count, const Windows* windows, bool padded, Int divisor) {
    const Windows& w = *windows;
    Int spots = Int(w.size[0]) * w.size[1] * w.size[2], space = Int(w.space[0]) * w.space[1] * w.space[2];
    FOR_EACH(i, count) {
        const T* channel = grad + i / space * spots;
        int v = int(i % w.space[2]), h = int(i / w.space[2] % w.space[1]), d = int(i / w.space[2] / w.space[1] % w.space[0]);
        T total = 0;
        for (int z = first_window(w, 0, d); z <= last_window(w, 0, d); ++z)
            for (int y = first_window(w, 1, h); y <= last_window(w, 1, h); ++y)
                for (int x = first_window(w, 2, v); x <= last_window(w, 2, v); ++x)
                    total += channel[(Int(z) * w.size[1] + y) * w.size[2] + x] / T(window_count(w, z, y, x, padded, divisor));
        out[i] = total;
    }
}

// `out` must contain zeros.
template <typename T>
__global__ void nll_loss_backward(const T* grad, const Int* target, const T* weight, T* out, Int count, Int classes, Int inner,
                                  Int ignored) {
    FOR_EACH(i, count) {
        if (target[i] == ignored) continue;
        Int chosen = checked(target[i], classes);
        out[(i / inner * classes + chosen) * inner + i % inner] = -grad[i] * (weight ? weight[chosen] : T(1));
    }
}

// --- embedding --------------------------------------------------------------------------------------------------------

// Copies the rows of a table at `indices`.  T is any type with the size of the elements.
template <typename T> __global__ void take_rows(const T* table, const Int* indices, T* out, Int count, Int width, Int rows) {
    FOR_EACH(i, count) out[i] = table[checked(indices[i / width], rows) * width + i % width];
}

// Adds each row of the input to the row of `out` at its index; `out` must contain zeros.
template <typename T> __global__ void sum_rows(const T* input, const Int* indices, T* out, Int count, Int width) {
    FOR_EACH(i, count) atomicAdd(out + indices[i / width] * width + i % width, input[i]);
}

// --- optimizers -------------------------------------------------------------------------------------------------------

template <typename T>
__global__ void sgd_step(T* param, const T* grad, T* buffer, Int count, double lr, double momentum, double dampening, double decay,
                         bool nesterov, bool first, bool maximize) {
    FOR_EACH(i, count) {
        T step = (maximize ? -grad[i] : grad[i]) + T(decay) * param[i];
        if (buffer) {
            buffer[i] = first ? step : T(momentum) * buffer[i] + T(1 - dampening) * step;
            step = nesterov ? step + T(momentum) * buffer[i] : buffer[i];
        }
        param[i] -= T(lr) * step;
    }
}

// `decoupled` selects AdamW's weight decay.  `largest` is the running maximum of AMSGrad, or null.
template <typename T>
__global__ void adam_step(T* param, const T* grad, T* mean, T* square, T* largest, Int count, double lr, double beta1, double beta2,
                          double eps, double decay, Int step, bool decoupled, bool maximize) {
    T correction1 = T(1 - pow(beta1, double(step))), correction2 = T(sqrt(1 - pow(beta2, double(step))));
    FOR_EACH(i, count) {
        T slope = maximize ? -grad[i] : grad[i];
        if (decoupled) param[i] *= T(1 - lr * decay);
        else slope += T(decay) * param[i];
        mean[i] += T(1 - beta1) * (slope - mean[i]);
        square[i] = T(beta2) * square[i] + T(1 - beta2) * slope * slope;
        T size = square[i];
        if (largest) size = largest[i] = largest[i] > size ? largest[i] : size;
        param[i] -= T(lr) / correction1 * mean[i] / (sqrt(size) / correction2 + T(eps));
    }
}

// --- random numbers: Philox 4x32-10 (Salmon et al. 2011) ----------------------------------------------------------------

struct Words {
    Word x, y, z, w;
};

// Returns four words of the sequence of `thread`, at position `offset` (a multiple of 4).
__device__ inline Words philox(Wide seed, Wide thread, Wide offset) {
    Words c = {Word(offset / 4), Word(offset / 4 >> 32), Word(thread), Word(thread >> 32)};
    Word k0 = Word(seed), k1 = Word(seed >> 32);
    for (int round = 0; round < 10; ++round) {
        Wide a = Wide(0xD2511F53u) * c.x, b = Wide(0xCD9E8D57u) * c.z;
        c = Words{Word(b >> 32) ^ c.y ^ k0, Word(b), Word(a >> 32) ^ c.w ^ k1, Word(a)};
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return c;
}

// Return uniform values on (0, 1].
__device__ inline float unit(Word x) { return x * 2.3283064e-10f + 1.1641532e-10f; }
__device__ inline double unit(Word low, Word high) {
    return (Wide(low) ^ (Wide(high) << 21)) * 1.1102230246251565e-16 + 5.551115123125783e-17;
}

// Converts four words to four floats or two doubles.
template <typename T> struct Draw;

template <> struct Draw<float> {
    static const int COUNT = 4;
    static __device__ void uniform(const Words& r, float* out) {
        out[0] = unit(r.x);
        out[1] = unit(r.y);
        out[2] = unit(r.z);
        out[3] = unit(r.w);
    }
    static __device__ void normal(const Words& r, float* out) {
        const float TURN = 2.3283064e-10f * 6.2831855f;
        pair(unit(r.x), r.y * TURN + TURN / 2, out);
        pair(unit(r.z), r.w * TURN + TURN / 2, out + 2);
    }
    static __device__ void pair(float radius, float angle, float* out) {
        float s = sqrtf(-2.0f * logf(radius));
        out[0] = s * sinf(angle);
        out[1] = s * cosf(angle);
    }
};

template <> struct Draw<double> {
    static const int COUNT = 2;
    static __device__ void uniform(const Words& r, double* out) {
        out[0] = unit(r.x, r.y);
        out[1] = unit(r.z, r.w);
    }
    static __device__ void normal(const Words& r, double* out) {
        double s = sqrt(-2.0 * log(unit(r.x, r.y))), angle = 6.283185307179586 * unit(r.z, r.w);
        out[0] = s * sin(angle);
        out[1] = s * cos(angle);
    }
};

enum Shape { UNIFORM, NORMAL, BERNOULLI, EXPONENTIAL };

// Transforms a uniform or standard normal value; `a` and `b` are the distribution's parameters.
template <typename T, int SHAPE> __device__ T shaped(T value, T a, T b) {
    if (SHAPE == UNIFORM) return value == T(1) ? a : value * (b - a) + a;
    if (SHAPE == NORMAL) return value * b + a;
    if (SHAPE == BERNOULLI) return value < a ? T(1) : T(0);
    const T tiny = sizeof(T) == 4 ? T(5.9604645e-08) : T(1.1102230246251565e-16);
    return (value >= T(1) - tiny ? tiny : -log(value)) / a;
}

// Which thread computes an element determines its value; the assignment is the same as in PyTorch.
template <typename T, int SHAPE> __global__ void draw(T* out, Int count, Wide seed, Wide offset, T a, T b) {
    for (Int start = THIS_THREAD; start < count; start += ALL_THREADS * Draw<T>::COUNT, offset += 4) {
        T values[Draw<T>::COUNT];
        Words words = philox(seed, THIS_THREAD, offset);
        if (SHAPE == NORMAL) Draw<T>::normal(words, values);
        else Draw<T>::uniform(words, values);
        for (int k = 0; k < Draw<T>::COUNT; ++k)
            if (start + k * ALL_THREADS < count) out[start + k * ALL_THREADS] = shaped<T, SHAPE>(values[k], a, b);
    }
}

// Keeps each element with probability `keep`, scaled by 1 / keep; `noise` is the scaled mask.
template <typename T>
__global__ void dropout(T* out, Int count, Wide seed, Wide offset, const T* input, T* noise, float keep) {
    for (Int start = THIS_THREAD; start < count; start += ALL_THREADS * 4, offset += 4) {
        float values[4];
        Draw<float>::uniform(philox(seed, THIS_THREAD, offset), values);
        for (int k = 0; k < 4; ++k) {
            Int i = start + k * ALL_THREADS;
            if (i >= count) break;
            noise[i] = values[k] < keep ? T(1) / T(keep) : T(0);
            out[i] = input[i] * noise[i];
        }
    }
}

// Draws integers in [low, low + span), or all 64-bit integers if `span` is 0; WIDE ones take two words each.
template <bool WIDE> __global__ void draw_integers(Int* out, Int count, Wide seed, Wide offset, Wide span, Int low) {
    const int COUNT = WIDE ? 2 : 4;
    for (Int start = THIS_THREAD; start < count; start += ALL_THREADS * COUNT, offset += 4) {
        Words r = philox(seed, THIS_THREAD, offset);
        Wide wide[4] = {WIDE ? Wide(r.x) << 32 | r.y : r.x, WIDE ? Wide(r.z) << 32 | r.w : r.y, r.z, r.w};
        for (int k = 0; k < COUNT; ++k)
            if (start + k * ALL_THREADS < count) out[start + k * ALL_THREADS] = Int((span ? wide[k] % span : wide[k])) + low;
    }
}
