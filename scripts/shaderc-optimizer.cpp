// What Lanescope calls of SPIRV-Tools' optimizer (src/shader/inlined.rs), in place of that library's optimizer.cpp. That one names all
// of its passes, so that all would have to be compiled and linked: a quarter of the time to build the GLSL compiler, and 0.8 MB.
// The passes themselves, and all below them, are the library's own.

#include <cstring>
#include <memory>
#include <vector>

#include "source/opt/build_module.h"
#include "source/opt/inline_exhaustive_pass.h"
#include "source/opt/local_access_chain_convert_pass.h"
#include "source/opt/local_single_block_elim_pass.h"
#include "source/opt/local_single_store_elim_pass.h"
#include "source/opt/merge_return_pass.h"
#include "source/opt/pass_manager.h"
#include "source/opt/scalar_replacement_pass.h"
#include "source/opt/ssa_rewrite_pass.h"
#include "source/spirv_optimizer_options.h"
#include "spirv-tools/libspirv.h"
#include "spirv-tools/optimizer.hpp"

namespace opt = spvtools::opt;

struct spv_optimizer_t {
  spv_target_env environment;
  opt::PassManager passes;
};

// ---- the functions of libspirv.h that are called ------------------------------------------------------------------------------

spv_optimizer_t* spvOptimizerCreate(spv_target_env environment) { return new spv_optimizer_t{environment, {}}; }

void spvOptimizerDestroy(spv_optimizer_t* optimizer) { delete optimizer; }

bool spvOptimizerRegisterPassFromFlag(spv_optimizer_t* optimizer, const char* flag) {
  opt::PassManager& passes = optimizer->passes;
  const auto is = [flag](const char* name) { return std::strcmp(flag, name) == 0; };
  if (is("--merge-return")) {
    passes.AddPass<opt::MergeReturnPass>();
  } else if (is("--inline-entry-points-exhaustive")) {
    passes.AddPass<opt::InlineExhaustivePass>();
  } else if (is("--scalar-replacement=100")) {
    passes.AddPass<opt::ScalarReplacementPass>(100);
  } else if (is("--convert-local-access-chains")) {
    passes.AddPass<opt::LocalAccessChainConvertPass>();
  } else if (is("--eliminate-local-single-block")) {
    passes.AddPass<opt::LocalSingleBlockLoadStoreElimPass>();
  } else if (is("--eliminate-local-single-store")) {
    passes.AddPass<opt::LocalSingleStoreElimPass>();
  } else if (is("--ssa-rewrite")) {
    passes.AddPass<opt::SSARewritePass>();
  } else {
    return false;
  }
  return true;
}

spv_result_t spvOptimizerRun(spv_optimizer_t* optimizer, const uint32_t* words, const size_t word_count, spv_binary* optimized,
                             const spv_optimizer_options options) {
  *optimized = nullptr;
  const std::unique_ptr<opt::IRContext> context = spvtools::BuildModule(optimizer->environment, nullptr, words, word_count);
  if (!context) return SPV_ERROR_INTERNAL;
  context->set_max_id_bound(options->max_id_bound_);
  context->set_preserve_bindings(options->preserve_bindings_);
  context->set_preserve_spec_constants(options->preserve_spec_constants_);
  optimizer->passes.SetValidatorOptions(&options->val_options_);
  optimizer->passes.SetTargetEnv(optimizer->environment);
  if (optimizer->passes.Run(context.get()) == opt::Pass::Status::Failure) return SPV_ERROR_INTERNAL;
  std::vector<uint32_t> binary;
  context->module()->ToBinary(&binary, /* skip_nop = */ true);
  // As spvBinaryDestroy frees it.
  *optimized = new spv_binary_t{new uint32_t[binary.size()], binary.size()};
  std::memcpy((*optimized)->code, binary.data(), binary.size() * sizeof(uint32_t));
  return SPV_SUCCESS;
}

// ---- what shaderc links to optimize, which it is never asked to (src/shader/compile.rs): it would say that it failed -----------

namespace spvtools {

struct Optimizer::Impl {};
struct Optimizer::PassToken::Impl {};

Optimizer::PassToken::PassToken(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Optimizer::PassToken::~PassToken() = default;
Optimizer::PassToken CreateStripDebugInfoPass() { return {std::unique_ptr<Optimizer::PassToken::Impl>()}; }
Optimizer::PassToken CreateCompactIdsPass() { return {std::unique_ptr<Optimizer::PassToken::Impl>()}; }

Optimizer::Optimizer(spv_target_env) {}
Optimizer::~Optimizer() = default;
void Optimizer::SetMessageConsumer(MessageConsumer) {}
Optimizer& Optimizer::RegisterPass(PassToken&&) { return *this; }
Optimizer& Optimizer::RegisterLegalizationPasses() { return *this; }
Optimizer& Optimizer::RegisterPerformancePasses() { return *this; }
Optimizer& Optimizer::RegisterSizePasses() { return *this; }
bool Optimizer::Run(const uint32_t*, size_t, std::vector<uint32_t>*, const spv_optimizer_options) const { return false; }

}  // namespace spvtools
