/* Tenfold's C interface: loads a compiled model (an artifact of `tenfold compile`) and runs it.
 *
 * C99, no compiler inside, links with libtenfold_runtime alone.
 *
 *   tenfold_model* model;
 *   if (tenfold_model_load("model.tenfold", &model)) die(tenfold_last_error());
 *   tenfold_context* context;
 *   tenfold_context_create(model, 0, &context);
 *   tenfold_context_run(context, inputs, 1, outputs, 1);
 *
 * Functions that can fail return a tenfold_status; after anything but TENFOLD_OK
 * tenfold_last_error() says what was found, what was wanted and what to do. Nothing prints, exits
 * or throws. What stands here keeps its meaning: tenfold_abi_version() grows when functions are
 * added, and nothing is taken away.
 *
 * Threads: a model is immutable, any number of threads may use it. A context is one thread's at a
 * time; give each thread its own.
 */
#ifndef TENFOLD_TENFOLD_H_
#define TENFOLD_TENFOLD_H_

#include <stddef.h>
#include <stdint.h>

#include "dlpack.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TENFOLD_ABI_VERSION 1

#if defined(__GNUC__)
#define TENFOLD_API __attribute__((visibility("default")))
#else
#define TENFOLD_API
#endif

typedef enum {
  TENFOLD_OK = 0,
  TENFOLD_ERROR = 1,          /* the input is at fault; see tenfold_last_error() */
  TENFOLD_ERROR_ARGUMENT = 2, /* the call itself is wrong: a null pointer, an index out of range */
  TENFOLD_ERROR_MEMORY = 3    /* no memory or no threads left */
} tenfold_status;

typedef struct tenfold_model tenfold_model;
typedef struct tenfold_context tenfold_context;
/* A model linked into the program: declared by the header that `tenfold compile -o x.o` writes. */
typedef struct tenfold_linked tenfold_linked;

/* Of the library that runs; compare with TENFOLD_ABI_VERSION of the header. */
TENFOLD_API uint32_t tenfold_abi_version(void);
TENFOLD_API const char* tenfold_version(void); /* "0.1.0" */

/* Of the last call of this thread that failed: one line a problem. Never null. */
TENFOLD_API const char* tenfold_last_error(void);
TENFOLD_API const char* tenfold_last_error_id(void); /* "input-shape"; the first problem's */

/* --- models ------------------------------------------------------------------------------------
 */

/* A .tenfold package or a .so. Constants are mapped, not copied. */
TENFOLD_API tenfold_status tenfold_model_load(const char* path, tenfold_model** out);
/* A package in memory, which must outlive the model: constants are used where they lie when `data`
 * is aligned to 64 bytes, else copied. */
TENFOLD_API tenfold_status tenfold_model_load_memory(const void* data, size_t size,
                                                     tenfold_model** out);
TENFOLD_API tenfold_status tenfold_model_load_linked(const tenfold_linked* linked,
                                                     tenfold_model** out);
/* Contexts keep what they need of it, in any order of release. Null is fine. */
TENFOLD_API void tenfold_model_release(tenfold_model* model);

typedef struct {
  const char* name;
  DLDataType dtype; /* types below 8 bits take one byte an element */
  int32_t ndim;
  const int64_t* shape;         /* -1: open */
  const char* const* dimension; /* per dimension: "n", "2*n + 1", or the number as text */
} tenfold_tensor_info;

/* Strings and arrays live as long as the model. */
TENFOLD_API const char* tenfold_model_name(const tenfold_model* model);
TENFOLD_API const char* tenfold_model_target(const tenfold_model* model);
TENFOLD_API size_t tenfold_model_input_count(const tenfold_model* model);
TENFOLD_API size_t tenfold_model_output_count(const tenfold_model* model);
TENFOLD_API tenfold_status tenfold_model_input(const tenfold_model* model, size_t index,
                                               tenfold_tensor_info* out);
TENFOLD_API tenfold_status tenfold_model_output(const tenfold_model* model, size_t index,
                                                tenfold_tensor_info* out);
/* The index, or -1. */
TENFOLD_API int64_t tenfold_model_find_input(const tenfold_model* model, const char* name);
TENFOLD_API int64_t tenfold_model_find_output(const tenfold_model* model, const char* name);
/* Bounds of an open dimension by its name, both included; INT64_MAX: none. */
TENFOLD_API tenfold_status tenfold_model_dimension_bounds(const tenfold_model* model,
                                                          const char* name, int64_t* min,
                                                          int64_t* max);

/* --- runs --------------------------------------------------------------------------------------
 */

/* One call's state: memory for intermediate values, kept from run to run. `threads` 0: one for each
 * core. Contexts of one model with the same number share their threads; the results do not depend
 * on the number. */
TENFOLD_API tenfold_status tenfold_context_create(const tenfold_model* model, int threads,
                                                  tenfold_context** out);
TENFOLD_API void tenfold_context_release(tenfold_context* context);

/* Inputs and outputs in the model's order; arrays row-major without gaps, on the CPU, aligned to
 * their element. Inputs are only read.
 *
 * An output whose `data` is set is written there, and its shape must be the right one. One whose
 * `data` is null is described: data, shape, dtype point into the context and hold until its next
 * run. `outputs` may be null, then tenfold_context_output() gives them. */
TENFOLD_API tenfold_status tenfold_context_run(tenfold_context* context, const DLTensor* inputs,
                                               size_t input_count, DLTensor* outputs,
                                               size_t output_count);
/* Output of the last run, as above. */
TENFOLD_API tenfold_status tenfold_context_output(tenfold_context* context, size_t index,
                                                  DLTensor* out);
/* Bytes that the context holds for intermediate values after the last run. */
TENFOLD_API size_t tenfold_context_memory(const tenfold_context* context);

/* --- profile -----------------------------------------------------------------------------------
 */

typedef struct {
  const char* kernel;
  const char* origins; /* the model's own nodes, separated by ", " */
  int64_t calls;
  int64_t nanoseconds; /* of all calls together */
  double flops, bytes; /* of all calls together */
  int32_t threads;     /* most that took part */
} tenfold_kernel_time;

/* Starts (nonzero) or ends timing each kernel; starting clears. */
TENFOLD_API void tenfold_context_set_profiling(tenfold_context* context, int on);
/* Sums since profiling began, longest first; valid until the next call on this context. */
TENFOLD_API tenfold_status tenfold_context_profile(tenfold_context* context,
                                                   const tenfold_kernel_time** out, size_t* count);

#ifdef __cplusplus
}
#endif
#endif /* TENFOLD_TENFOLD_H_ */
