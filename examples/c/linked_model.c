/* A model that is part of the program: nothing is loaded from a file.
 *
 *   tenfold compile model.onnx -o model.o          # writes model.h too
 *   cc -std=c99 -Iinclude -I. examples/c/linked_model.c model.o -ltenfold_runtime -o linked
 *
 * The model takes and gives one f32 array of three elements a row.
 */
#include <stdio.h>

#include "model.h"

int main(void) {
  tenfold_model* model;
  tenfold_context* context;
  float x[2][3] = {{0, 1, 2}, {-1, -2, -3}}, y[2][3];
  int64_t shape[2] = {2, 3};
  DLTensor in = {x, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, NULL, 0};
  DLTensor out = in;
  out.data = y;
  if (model_load(&model) || tenfold_context_create(model, 1, &context) ||
      tenfold_context_run(context, &in, 1, &out, 1)) {
    fprintf(stderr, "%s\n", tenfold_last_error());
    return 1;
  }
  for (int i = 0; i < 2; ++i) printf("%.5f %.5f %.5f\n", y[i][0], y[i][1], y[i][2]);
  tenfold_context_release(context);
  tenfold_model_release(model);
  return 0;
}
