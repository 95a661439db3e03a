// Loads an artifact and runs it from two threads that share the model.
//
//   tenfold compile model.onnx -o model.tenfold
//   c++ -std=c++20 -Iinclude examples/cpp/run_model.cc -ltenfold_runtime -o run_model
//   ./run_model model.tenfold
//
// The model takes and gives one f32 array of three elements a row.
#include <cstdio>
#include <tenfold/tenfold.hpp>
#include <thread>

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: run_model MODEL.tenfold\n");
    return 2;
  }
  try {
    auto model = tenfold::Model::load(std::string(argv[1]));
    for (const auto& t : model.inputs()) {
      std::printf("input %s [", t.name.c_str());
      for (size_t i = 0; i < t.dimensions.size(); ++i)
        std::printf("%s%s", i ? ", " : "", t.dimensions[i].c_str());
      std::printf("]\n");
    }
    std::vector<float> x = {0, 1, 2, -1, -2, -3}, y(6), z(6);
    auto run = [&](std::vector<float>& result) {
      tenfold::Context context(model, 1);
      context.run({tenfold::view(x, {2, 3})}, {tenfold::view(result, {2, 3})});
    };
    std::thread other([&] { run(z); });
    run(y);
    other.join();
    for (float v : y) std::printf("%.5f ", v);
    std::printf("\n%s\n", y == z ? "both threads agree" : "the threads differ");

    // What a wrong call looks like.
    tenfold::Context context(model);
    try {
      context.run({tenfold::view(x, {6})});
    } catch (const tenfold::Error& e) {
      std::printf("%s\n", e.id().c_str());
    }
    return y == z ? 0 : 1;
  } catch (const tenfold::Error& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
  }
}
