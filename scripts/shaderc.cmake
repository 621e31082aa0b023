# Included by the top project of shaderc-sys (-DCMAKE_PROJECT_native-shaderc_INCLUDE=this file). Together these cut the build to a
# quarter: only those parts of SPIRV-Tools' optimizer that are called, and precompiled headers for the three libraries whose build is
# mostly header parsing.

# Seven passes (shaderc-optimizer.cpp), and what they need.
set(optimizer_sources
  basic_block build_module cfg const_folding_rules constants debug_info_manager decoration_manager def_use_manager dominator_analysis
  dominator_tree feature_manager fold folding_rules function inline_exhaustive_pass inline_pass instruction instruction_list ir_context
  ir_loader liveness local_access_chain_convert_pass local_single_block_elim_pass local_single_store_elim_pass loop_descriptor mem_pass
  merge_return_pass module pass pass_manager scalar_analysis scalar_analysis_simplification scalar_replacement_pass ssa_rewrite_pass
  struct_cfg_analysis type_manager types value_number_table)
list(TRANSFORM optimizer_sources REPLACE "(.+)" "${CMAKE_SOURCE_DIR}/spirv-tools/source/opt/\\1.cpp")
list(APPEND optimizer_sources "${CMAKE_CURRENT_LIST_DIR}/shaderc-optimizer.cpp")

function(_change_shaderc)
  set_property(TARGET SPIRV-Tools-opt PROPERTY SOURCES ${optimizer_sources})
  target_precompile_headers(SPIRV-Tools-opt PRIVATE
    <algorithm> <array> <functional> <map> <memory> <set> <sstream> <string> <unordered_map> <unordered_set> <vector>
    "${CMAKE_SOURCE_DIR}/spirv-tools/source/opt/ir_context.h" "${CMAKE_SOURCE_DIR}/spirv-tools/source/opt/pass.h" "${CMAKE_SOURCE_DIR}/spirv-tools/source/opt/ir_builder.h")
  target_precompile_headers(SPIRV-Tools-static PRIVATE
    <algorithm> <functional> <map> <set> <sstream> <string> <unordered_map> <unordered_set> <vector>
    "${CMAKE_SOURCE_DIR}/spirv-tools/source/val/validate.h" "${CMAKE_SOURCE_DIR}/spirv-tools/source/val/validation_state.h" "${CMAKE_SOURCE_DIR}/spirv-tools/source/val/instruction.h")
  target_precompile_headers(glslang PRIVATE <algorithm> <map> <set> <string> <unordered_map> <vector> <sstream>
    "${CMAKE_SOURCE_DIR}/glslang/glslang/MachineIndependent/ParseHelper.h" "${CMAKE_SOURCE_DIR}/glslang/glslang/MachineIndependent/localintermediate.h")
endfunction()
cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL _change_shaderc)
