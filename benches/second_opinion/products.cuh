// Products of matrices by the vendor's own library, cuBLAS: full mantissas, square matrices, f32 without TF32.
#pragma once

#include <cmath>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "common.cuh"

constexpr int PRODUCT_SIDE = 4096, PRODUCTS_CHECKED = 256;

#ifdef HAS_CUBLAS
#include <cublas_v2.h>

inline void check(cublasStatus_t status) {
    if (status != CUBLAS_STATUS_SUCCESS) {
        throw std::runtime_error("cuBLAS: status " + std::to_string(int(status)));
    }
}

// What a kind of product multiplies and adds up. `UNIT` is by how much of the sum of all absolute values a sum of one product may be off.
template <class F, cudaDataType FACTOR_TYPE, cublasComputeType_t COMPUTE_TYPE>
struct IntoF32 {
    using Factor = F;
    using Sum = float;
    static constexpr cudaDataType FACTOR = FACTOR_TYPE, SUM = CUDA_R_32F;
    static constexpr cublasComputeType_t COMPUTE = COMPUTE_TYPE;
    static constexpr double UNIT = 1.2e-7;
};

using ProductF32 = IntoF32<float, CUDA_R_32F, CUBLAS_COMPUTE_32F_PEDANTIC>;
using ProductF16F32 = IntoF32<__half, CUDA_R_16F, CUBLAS_COMPUTE_32F>;
using ProductBf16F32 = IntoF32<__nv_bfloat16, CUDA_R_16BF, CUBLAS_COMPUTE_32F>;

// Sums may be as far off as they are large.
struct ProductF16F16 {
    using Factor = __half;
    using Sum = __half;
    static constexpr cudaDataType FACTOR = CUDA_R_16F, SUM = CUDA_R_16F;
    static constexpr cublasComputeType_t COMPUTE = CUBLAS_COMPUTE_16F;
    static constexpr double UNIT = 1.0;
};

struct ProductI8I32 {
    using Factor = int8_t;
    using Sum = int32_t;
    static constexpr cudaDataType FACTOR = CUDA_R_8I, SUM = CUDA_R_32I;
    static constexpr cublasComputeType_t COMPUTE = CUBLAS_COMPUTE_32I;
    static constexpr double UNIT = 0.0;
};

// Of either sign, and of magnitudes from 1/8 up to 2; bytes take all their values.
template <class T>
__host__ __device__ T product_factor(uint32_t word) {
    if constexpr (sizeof(T) == 1) {
        return T(word >> 24);
    } else {
        const float magnitude = (1.0f + float(word & 0x7FFFFFu) / 8388608.0f) * float(1u << (word >> 23 & 3)) / 8.0f;
        return T(word >> 31 ? -magnitude : magnitude);
    }
}

template <class Kind>
Found library_product() {
    using Factor = typename Kind::Factor;
    using Sum = typename Kind::Sum;
    constexpr int N = PRODUCT_SIDE;
    const Buffer<Factor> left(size_t(N) * N), right(size_t(N) * N);
    const Buffer<Sum> sums(size_t(N) * N);
    fill(left, [] __device__(uint32_t i) { return product_factor<Factor>(hash(i)); });
    fill(right, [] __device__(uint32_t i) { return product_factor<Factor>(hash(~i)); });
    cublasHandle_t handle;
    check(cublasCreate(&handle));
    // Column by column, so that the library's left factor is the right one here. Bytes have both along what is summed.
    constexpr bool is_turned = sizeof(Factor) == 1;
    const int32_t one_i32 = 1, zero_i32 = 0;
    const float one = 1, zero = 0;
    const __half one_f16 = __float2half(1), zero_f16 = __float2half(0);
    const bool is_i32 = Kind::COMPUTE == CUBLAS_COMPUTE_32I, is_f16 = Kind::COMPUTE == CUBLAS_COMPUTE_16F;
    const void* alpha = is_i32 ? static_cast<const void*>(&one_i32) : is_f16 ? static_cast<const void*>(&one_f16) : &one;
    const void* beta = is_i32 ? static_cast<const void*>(&zero_i32) : is_f16 ? static_cast<const void*>(&zero_f16) : &zero;
    const double ns = time_repeated([&] {
        check(cublasGemmEx(handle, is_turned ? CUBLAS_OP_T : CUBLAS_OP_N, CUBLAS_OP_N, N, N, N, alpha, right.get(), Kind::FACTOR, N,
                           left.get(), Kind::FACTOR, N, beta, sums.get(), Kind::SUM, N, Kind::COMPUTE, CUBLAS_GEMM_DEFAULT));
    });
    check(cublasDestroy(handle));
    const std::vector<Sum> got = sums.read();
    bool is_right = true;
    for (uint32_t i = 0; i < PRODUCTS_CHECKED; ++i) {
        const uint32_t row = hash(i) % N, column = hash(i + PRODUCTS_CHECKED) % N;
        double sum = 0, size = 0;
        for (uint32_t k = 0; k < N; ++k) {
            const uint32_t at = is_turned ? column * N + k : k * N + column;
            const double product = double(product_factor<Factor>(hash(row * N + k))) * double(product_factor<Factor>(hash(~at)));
            sum += product;
            size += std::fabs(product);
        }
        is_right = is_right && std::fabs(double(got[size_t(row) * N + column]) - sum) <= Kind::UNIT * (Kind::UNIT < 1 ? N + 2 : 1) * size;
    }
    return {ns, 2.0 * N * N * N, is_right};
}
#else
struct ProductF32 {};
struct ProductF16F32 {};
struct ProductBf16F32 {};
struct ProductF16F16 {};
struct ProductI8I32 {};

template <class Kind>
Found library_product() {
    throw std::runtime_error("the CUDA toolkit has no cuBLAS beside its compiler");
}
#endif
