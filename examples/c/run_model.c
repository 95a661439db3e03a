/* Loads an artifact and runs it in C99 with nothing but the runtime.
 *
 *   tenfold compile model.onnx -o model.tenfold
 *   cc -std=c99 -Iinclude examples/c/run_model.c -ltenfold_runtime -o run_model
 *   ./run_model model.tenfold [SIZE]
 *
 * Every f32 input is filled with 0, 0.1, 0.2 ... 0.9, 0, ...; open dimensions get SIZE (1).
 */
#include <stdio.h>
#include <stdlib.h>
#include <tenfold/tenfold.h>

static void die(const char* what) {
  fprintf(stderr, "%s: %s\n", what, tenfold_last_error());
  exit(1);
}

static size_t count(const DLTensor* t) {
  size_t n = 1;
  int i;
  for (i = 0; i < t->ndim; ++i) n *= (size_t)t->shape[i];
  return n;
}

int main(int argc, char** argv) {
  tenfold_model* model;
  tenfold_context* context;
  size_t i, k, inputs, outputs;
  int64_t size = argc > 2 ? atoi(argv[2]) : 1;
  if (argc < 2) {
    fprintf(stderr, "usage: run_model MODEL.tenfold [SIZE]\n");
    return 2;
  }
  if (tenfold_model_load(argv[1], &model)) die(argv[1]);
  if (tenfold_context_create(model, 0, &context)) die("context");
  printf("%s for %s, runtime %s\n", tenfold_model_name(model), tenfold_model_target(model),
         tenfold_version());

  inputs = tenfold_model_input_count(model);
  outputs = tenfold_model_output_count(model);
  DLTensor* in = calloc(inputs + 1, sizeof *in);
  DLTensor* out = calloc(outputs + 1, sizeof *out);
  for (i = 0; i < inputs; ++i) {
    tenfold_tensor_info info;
    if (tenfold_model_input(model, i, &info)) die("input");
    in[i].device.device_type = kDLCPU;
    in[i].dtype = info.dtype;
    in[i].ndim = info.ndim;
    in[i].shape = malloc((size_t)(info.ndim + 1) * sizeof(int64_t));
    printf("input %s [", info.name);
    for (k = 0; k < (size_t)info.ndim; ++k) {
      in[i].shape[k] = info.shape[k] < 0 ? size : info.shape[k];
      printf("%s%s", k ? ", " : "", info.dimension[k]);
    }
    printf("]\n");
    in[i].data = calloc(count(&in[i]) + 1, info.dtype.bits > 8 ? info.dtype.bits / 8u : 1u);
    if (info.dtype.code == kDLFloat && info.dtype.bits == 32)
      for (k = 0; k < count(&in[i]); ++k) ((float*)in[i].data)[k] = (float)(k % 10) / 10;
  }

  /* No data: the runtime gives its own memory, until the next run. */
  if (tenfold_context_run(context, in, inputs, out, outputs)) die("run");
  for (i = 0; i < outputs; ++i) {
    tenfold_tensor_info info;
    if (tenfold_model_output(model, i, &info)) die("output");
    printf("output %s:", info.name);
    for (k = 0; k < count(&out[i]) && k < 8 && info.dtype.bits == 32; ++k)
      printf(" %.5f", ((float*)out[i].data)[k]);
    printf("\n");
  }
  for (i = 0; i < inputs; ++i) {
    free(in[i].data);
    free(in[i].shape);
  }
  free(in);
  free(out);
  tenfold_context_release(context);
  tenfold_model_release(model);
  return 0;
}
