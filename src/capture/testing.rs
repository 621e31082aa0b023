//! A file of the layer's, for tests.

/// One with two kernels, and these lines of times.
pub fn log(program: &str, times: &str) -> String {
    format!(
        "capture\t1\t7\tisolated\t{program}\ndevice\taa\tbb\t2\tA GPU\nkernel\t0\tabc\tmain\t\t0\tsaxpy\n\
         executable\t0\t32\tmain\tRegister Count=u24\nkernel\t1\tdef\tmain\t\t0\t\n\
         dispatch\t0\t0\t4\t1\t1\t64\t\ndispatch\t1\t1\t1\t1\t1\t32\tsum\ndispatch\t2\t0\t4\t1\t1\t96\t\n\
         floor\t3\n{times}"
    )
}
