3c3
< empty_like torch.sparse_coo torch.sparse_csr [torch.sparse_csr, (4, 4), 0, [94770974390018, 4, 4, 4, 80], [], []]
---
> empty_like torch.sparse_coo torch.sparse_csr [torch.sparse_csr, (4, 4), 0, [0, 0, 0, 0, 0], [], []]
5c5
< empty_like torch.sparse_coo torch.sparse_csc [torch.sparse_csc, (4, 4), 0, [31525691319713892, 29273822787272801, 34058905980698719, 9007336694349865, 28710898598150176], [], []]
---
> empty_like torch.sparse_coo torch.sparse_csc [torch.sparse_csc, (4, 4), 0, [0, 0, 0, 0, 0], [], []]
7,10c7,10
< empty_like torch.sparse_coo torch.sparse_bsr RuntimeError empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got SparseBsr
< zeros_like torch.sparse_coo torch.sparse_bsr RuntimeError sparse_compressed_tensor_with_dims: blocksize needs to be a tuple of size 2, but got 0
< empty_like torch.sparse_coo torch.sparse_bsc RuntimeError empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got SparseBsc
< zeros_like torch.sparse_coo torch.sparse_bsc RuntimeError sparse_compressed_tensor_with_dims: blocksize needs to be a tuple of size 2, but got 0
---
> empty_like torch.sparse_coo torch.sparse_bsr RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsr
> zeros_like torch.sparse_coo torch.sparse_bsr RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsr
> empty_like torch.sparse_coo torch.sparse_bsc RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsc
> zeros_like torch.sparse_coo torch.sparse_bsc RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsc
14,25c14,25
< ones_like torch.sparse_coo NotImplementedError Could not run 'aten::fill_.Scalar' with arguments from the 'SparseCPU' backend. This could be because the operator doesn't exist for this backend, or was omitted during th
< full_like torch.sparse_coo NotImplementedError Could not run 'aten::fill_.Scalar' with arguments from the 'SparseCPU' backend. This could be because the operator doesn't exist for this backend, or was omitted during th
< rand_like torch.sparse_coo NotImplementedError Could not run 'aten::uniform_' with arguments from the 'SparseCPU' backend. This could be because the operator doesn't exist for this backend, or was omitted during the se
< fill_ torch.sparse_coo NotImplementedError Could not run 'aten::fill_.Scalar' with arguments from the 'SparseCPU' backend. This could be because the operator doesn't exist for this backend, or was omitted during the se
< resize_ torch.sparse_coo (2, 3) NotImplementedError Could not run 'aten::resize_' with arguments from the 'SparseCPU' backend. This could be because the operator doesn't exist for this backend, or was omitted during th
< resize_ torch.sparse_coo (5, 4) NotImplementedError Could not run 'aten::resize_' with arguments from the 'SparseCPU' backend. This could be because the operator doesn't exist for this backend, or was omitted during th
< resize_ torch.sparse_coo (4, 6) NotImplementedError Could not run 'aten::resize_' with arguments from the 'SparseCPU' backend. This could be because the operator doesn't exist for this backend, or was omitted during th
< resize_ torch.sparse_coo (4, 4) NotImplementedError Could not run 'aten::resize_' with arguments from the 'SparseCPU' backend. This could be because the operator doesn't exist for this backend, or was omitted during th
< resize_ torch.sparse_coo (16,) NotImplementedError Could not run 'aten::resize_' with arguments from the 'SparseCPU' backend. This could be because the operator doesn't exist for this backend, or was omitted during the
< resize_ torch.sparse_coo (2, 4, 4) NotImplementedError Could not run 'aten::resize_' with arguments from the 'SparseCPU' backend. This could be because the operator doesn't exist for this backend, or was omitted during
< resize_ torch.sparse_coo (1, 4) NotImplementedError Could not run 'aten::resize_' with arguments from the 'SparseCPU' backend. This could be because the operator doesn't exist for this backend, or was omitted during th
< resize_ torch.sparse_coo (3, 2) NotImplementedError Could not run 'aten::resize_' with arguments from the 'SparseCPU' backend. This could be because the operator doesn't exist for this backend, or was omitted during th
---
> ones_like torch.sparse_coo NotImplementedError full_like(): a COO tensor has no indices to fill; convert it with `to_dense()` first
> full_like torch.sparse_coo NotImplementedError full_like(): a COO tensor has no indices to fill; convert it with `to_dense()` first
> rand_like torch.sparse_coo NotImplementedError Could not run 'aten::rand_like' with arguments from the 'SparseCPU' backend: it is not implemented for sparse tensors. Convert them with `to_dense()` first.
> fill_ torch.sparse_coo NotImplementedError full_like(): a COO tensor has no indices to fill; convert it with `to_dense()` first
> resize_ torch.sparse_coo (2, 3) RuntimeError resize_ expected sparse CSR tensor layout but got Sparse
> resize_ torch.sparse_coo (5, 4) RuntimeError resize_ expected sparse CSR tensor layout but got Sparse
> resize_ torch.sparse_coo (4, 6) RuntimeError resize_ expected sparse CSR tensor layout but got Sparse
> resize_ torch.sparse_coo (4, 4) RuntimeError resize_ expected sparse CSR tensor layout but got Sparse
> resize_ torch.sparse_coo (16,) RuntimeError resize_ expected sparse CSR tensor layout but got Sparse
> resize_ torch.sparse_coo (2, 4, 4) RuntimeError resize_ expected sparse CSR tensor layout but got Sparse
> resize_ torch.sparse_coo (1, 4) RuntimeError resize_ expected sparse CSR tensor layout but got Sparse
> resize_ torch.sparse_coo (3, 2) RuntimeError resize_ expected sparse CSR tensor layout but got Sparse
31c31
< empty_like torch.sparse_csr torch.sparse_csr [torch.sparse_csr, (4, 4), 15, [0, 3, 7, 11, 15], [1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3], [0.00010638998355716467, 4.5833670171136117e-41, -2.4243405742919813e+35, 3.
---
> empty_like torch.sparse_csr torch.sparse_csr [torch.sparse_csr, (4, 4), 15, [0, 3, 7, 11, 15], [1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
36c36
< zeros_like torch.sparse_csr torch.sparse_bsr RuntimeError sparse_compressed_tensor_with_dims: blocksize needs to be a tuple of size 2, but got 0
---
> zeros_like torch.sparse_csr torch.sparse_bsr RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsr
38c38
< zeros_like torch.sparse_csr torch.sparse_bsc RuntimeError sparse_compressed_tensor_with_dims: blocksize needs to be a tuple of size 2, but got 0
---
> zeros_like torch.sparse_csr torch.sparse_bsc RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsc
40c40
< new_empty torch.sparse_csr [torch.sparse_csr, (2, 3), 0, [7453303955814817849, 7958535002296443250, 8031172957715655781], [], []]
---
> new_empty torch.sparse_csr [torch.sparse_csr, (2, 3), 0, [0, 0, 0], [], []]
44c44
< rand_like torch.sparse_csr NotImplementedError Could not run 'aten::uniform_' with arguments from the 'SparseCsrCPU' backend. This could be because the operator doesn't exist for this backend, or was omitted during the
---
> rand_like torch.sparse_csr NotImplementedError Could not run 'aten::rand_like' with arguments from the 'SparseCsrCPU' backend: it is not implemented for sparse tensors. Convert them with `to_dense()` first.
51c51
< resize_ torch.sparse_csr (2, 4, 4) [torch.sparse_csr, (2, 4, 4), 15, [[0, 3, 7, 11, 15], [2318355878441149779, 2318349332961851728, 7165912365335999814, 7163376947542180968, 7161077941591957836]], [[1, 2, 3, 0, 1, 2, 3
---
> resize_ torch.sparse_csr (2, 4, 4) RuntimeError torch.resize_: cannot add matrices to a batch: from [4, 4] to [2, 4, 4]
61c61
< empty_like torch.sparse_csc torch.sparse_csc [torch.sparse_csc, (4, 4), 15, [0, 3, 7, 11, 15], [1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3], [0.0, 0.0, -2.4262008515478162e+35, 3.0923854510720063e-41, 0.0, 0.0, 1.4012
---
> empty_like torch.sparse_csc torch.sparse_csc [torch.sparse_csc, (4, 4), 15, [0, 3, 7, 11, 15], [1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3], [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]
64c64
< zeros_like torch.sparse_csc torch.sparse_bsr RuntimeError sparse_compressed_tensor_with_dims: blocksize needs to be a tuple of size 2, but got 0
---
> zeros_like torch.sparse_csc torch.sparse_bsr RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsr
66c66
< zeros_like torch.sparse_csc torch.sparse_bsc RuntimeError sparse_compressed_tensor_with_dims: blocksize needs to be a tuple of size 2, but got 0
---
> zeros_like torch.sparse_csc torch.sparse_bsc RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsc
68c68
< new_empty torch.sparse_csc [torch.sparse_csc, (2, 3), 0, [140480744463728, 94785536455248, 94785536448384, 0], [], []]
---
> new_empty torch.sparse_csc [torch.sparse_csc, (2, 3), 0, [0, 0, 0, 0], [], []]
72c72
< rand_like torch.sparse_csc NotImplementedError Could not run 'aten::uniform_' with arguments from the 'SparseCsrCPU' backend. This could be because the operator doesn't exist for this backend, or was omitted during the
---
> rand_like torch.sparse_csc NotImplementedError Could not run 'aten::rand_like' with arguments from the 'SparseCscCPU' backend: it is not implemented for sparse tensors. Convert them with `to_dense()` first.
74,83c74,83
< resize_ torch.sparse_csc (2, 3) RuntimeError torch.resize_: Resizing columns of sparse CSR tensors to a smaller value is not supported. The original number of columns is 4 while the requested new number of columns is 3
< resize_ torch.sparse_csc (5, 4) [torch.sparse_csc, (5, 4), 15, [0, 3, 7, 11, 15, 15], [1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3], [4.0, 8.0, 12.0, 1.0, 5.0, 9.0, 13.0, 2.0, 6.0, 10.0, 14.0, 3.0, 7.0, 11.0, 15.0]]
< resize_ torch.sparse_csc (4, 6) [torch.sparse_csc, (4, 6), 15, [0, 3, 7, 11, 15], [1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3], [4.0, 8.0, 12.0, 1.0, 5.0, 9.0, 13.0, 2.0, 6.0, 10.0, 14.0, 3.0, 7.0, 11.0, 15.0]]
< resize_ torch.sparse_csc (4, 4) [torch.sparse_csc, (4, 4), 15, [0, 3, 7, 11, 15], [1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3], [4.0, 8.0, 12.0, 1.0, 5.0, 9.0, 13.0, 2.0, 6.0, 10.0, 14.0, 3.0, 7.0, 11.0, 15.0]]
< resize_ torch.sparse_csc (16,) RuntimeError torch.resize_: Only batched sparse CSR matrices are supported, but got size [16]
< resize_ torch.sparse_csc (2, 4, 4) [torch.sparse_csc, (2, 4, 4), 15, [[0, 3, 7, 11, 15], [94785536446640, 32, 64, 94771027997461, 3]], [[1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3], [140480734196840, 0, 0, 0, 113, 947
< resize_ torch.sparse_csc (1, 4) [torch.sparse_csc, (1, 4), 4, [0, 4], [1, 2, 3, 0], [4.0, 8.0, 12.0, 1.0]]
< resize_ torch.sparse_csc (3, 2) RuntimeError torch.resize_: Resizing columns of sparse CSR tensors to a smaller value is not supported. The original number of columns is 4 while the requested new number of columns is 2
< resize_as_ torch.sparse_csc [torch.sparse_csc, (4, 4), 15, [0, 3, 7, 11, 15], [1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3], [4.0, 8.0, 12.0, 1.0, 5.0, 9.0, 13.0, 2.0, 6.0, 10.0, 14.0, 3.0, 7.0, 11.0, 15.0]]
< resize_as_ b torch.sparse_csc [torch.sparse_csc, (4, 4), 15, [0, 3, 7, 11, 15], [1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3], [4.0, 8.0, 12.0, 1.0, 5.0, 9.0, 13.0, 2.0, 6.0, 10.0, 14.0, 3.0, 7.0, 11.0, 15.0]]
---
> resize_ torch.sparse_csc (2, 3) RuntimeError resize_ expected sparse CSR tensor layout but got SparseCsc
> resize_ torch.sparse_csc (5, 4) RuntimeError resize_ expected sparse CSR tensor layout but got SparseCsc
> resize_ torch.sparse_csc (4, 6) RuntimeError resize_ expected sparse CSR tensor layout but got SparseCsc
> resize_ torch.sparse_csc (4, 4) RuntimeError resize_ expected sparse CSR tensor layout but got SparseCsc
> resize_ torch.sparse_csc (16,) RuntimeError resize_ expected sparse CSR tensor layout but got SparseCsc
> resize_ torch.sparse_csc (2, 4, 4) RuntimeError resize_ expected sparse CSR tensor layout but got SparseCsc
> resize_ torch.sparse_csc (1, 4) RuntimeError resize_ expected sparse CSR tensor layout but got SparseCsc
> resize_ torch.sparse_csc (3, 2) RuntimeError resize_ expected sparse CSR tensor layout but got SparseCsc
> resize_as_ torch.sparse_csc RuntimeError resize_ expected sparse CSR tensor layout but got SparseCsc
> resize_as_ b torch.sparse_csc RuntimeError resize_ expected sparse CSR tensor layout but got SparseCsc
88c88
< zeros_like torch.sparse_bsr torch.sparse_csr RuntimeError sparse_compressed_tensor_with_dims: blocksize cannot be specified for non-block layout SparseCsr
---
> zeros_like torch.sparse_bsr torch.sparse_csr [torch.sparse_csr, (4, 4), 0, [0, 0, 0, 0, 0], [], []]
90,91c90,91
< zeros_like torch.sparse_bsr torch.sparse_csc RuntimeError sparse_compressed_tensor_with_dims: blocksize cannot be specified for non-block layout SparseCsc
< empty_like torch.sparse_bsr torch.sparse_bsr [torch.sparse_bsr, (4, 4), 4, [0, 2, 4], [0, 1, 0, 1], [[[-1.2687324880455529e-23, 3.091965061532709e-41], [2.802596928649634e-45, 0.0]], [[4.203895392974451e-45, 0.0], [0.0
---
> zeros_like torch.sparse_bsr torch.sparse_csc [torch.sparse_csc, (4, 4), 0, [0, 0, 0, 0, 0], [], []]
> empty_like torch.sparse_bsr torch.sparse_bsr [torch.sparse_bsr, (4, 4), 4, [0, 2, 4], [0, 1, 0, 1], [[[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]]
94,96c94,96
< zeros_like torch.sparse_bsr torch.sparse_bsc [torch.sparse_bsc, (4, 4), 0, [0, 0, 0], [], []]
< new_zeros torch.sparse_bsr RuntimeError empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got SparseBsr
< new_empty torch.sparse_bsr RuntimeError empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got SparseBsr
---
> zeros_like torch.sparse_bsr torch.sparse_bsc RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsc
> new_zeros torch.sparse_bsr RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsr
> new_empty torch.sparse_bsr RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsr
100c100
< rand_like torch.sparse_bsr NotImplementedError Could not run 'aten::uniform_' with arguments from the 'SparseCsrCPU' backend. This could be because the operator doesn't exist for this backend, or was omitted during the
---
> rand_like torch.sparse_bsr NotImplementedError Could not run 'aten::rand_like' with arguments from the 'SparseBsrCPU' backend: it is not implemented for sparse tensors. Convert them with `to_dense()` first.
102,111c102,111
< resize_ torch.sparse_bsr (2, 3) RuntimeError torch.resize_: Resizing columns of sparse CSR tensors to a smaller value is not supported. The original number of columns is 4 while the requested new number of columns is 3
< resize_ torch.sparse_bsr (5, 4) [torch.sparse_bsr, (5, 4), 4, [0, 2, 4, 4, 4, 4], [0, 1, 0, 1], [0.0, 1.0, 4.0, 5.0]]
< resize_ torch.sparse_bsr (4, 6) [torch.sparse_bsr, (4, 6), 4, [0, 2, 4, 4, 4], [0, 1, 0, 1], [0.0, 1.0, 4.0, 5.0]]
< resize_ torch.sparse_bsr (4, 4) [torch.sparse_bsr, (4, 4), 4, [0, 2, 4, 4, 4], [0, 1, 0, 1], [0.0, 1.0, 4.0, 5.0]]
< resize_ torch.sparse_bsr (16,) RuntimeError torch.resize_: Only batched sparse CSR matrices are supported, but got size [16]
< resize_ torch.sparse_bsr (2, 4, 4) [torch.sparse_bsr, (2, 4, 4), 4, [[0, 2, 4, 4, 4], [7956004993090322176, 40, 7133701809754865920, 4, 4]], [[0, 1, 0, 1], [7165912502774953318, 8746941997992652648, 7453010330410836290
< resize_ torch.sparse_bsr (1, 4) [torch.sparse_bsr, (1, 4), 4, [0, 4], [0, 1, 0, 1], [0.0, 1.0, 4.0, 5.0]]
< resize_ torch.sparse_bsr (3, 2) RuntimeError torch.resize_: Resizing columns of sparse CSR tensors to a smaller value is not supported. The original number of columns is 4 while the requested new number of columns is 2
< resize_as_ torch.sparse_bsr [torch.sparse_bsr, (4, 4), 4, [0, 2, 4, 4, 4], [0, 1, 0, 1], [0.0, 1.0, 4.0, 5.0]]
< resize_as_ b torch.sparse_bsr [torch.sparse_bsr, (4, 4), 4, [0, 2, 4, 4, 4], [0, 1, 0, 1], [0.0, 1.0, 4.0, 5.0]]
---
> resize_ torch.sparse_bsr (2, 3) RuntimeError resize_ expected sparse CSR tensor layout but got SparseBsr
> resize_ torch.sparse_bsr (5, 4) RuntimeError resize_ expected sparse CSR tensor layout but got SparseBsr
> resize_ torch.sparse_bsr (4, 6) RuntimeError resize_ expected sparse CSR tensor layout but got SparseBsr
> resize_ torch.sparse_bsr (4, 4) RuntimeError resize_ expected sparse CSR tensor layout but got SparseBsr
> resize_ torch.sparse_bsr (16,) RuntimeError resize_ expected sparse CSR tensor layout but got SparseBsr
> resize_ torch.sparse_bsr (2, 4, 4) RuntimeError resize_ expected sparse CSR tensor layout but got SparseBsr
> resize_ torch.sparse_bsr (1, 4) RuntimeError resize_ expected sparse CSR tensor layout but got SparseBsr
> resize_ torch.sparse_bsr (3, 2) RuntimeError resize_ expected sparse CSR tensor layout but got SparseBsr
> resize_as_ torch.sparse_bsr RuntimeError resize_ expected sparse CSR tensor layout but got SparseBsr
> resize_as_ b torch.sparse_bsr RuntimeError resize_ expected sparse CSR tensor layout but got SparseBsr
116c116
< zeros_like torch.sparse_bsc torch.sparse_csr RuntimeError sparse_compressed_tensor_with_dims: blocksize cannot be specified for non-block layout SparseCsr
---
> zeros_like torch.sparse_bsc torch.sparse_csr [torch.sparse_csr, (4, 4), 0, [0, 0, 0, 0, 0], [], []]
118c118
< zeros_like torch.sparse_bsc torch.sparse_csc RuntimeError sparse_compressed_tensor_with_dims: blocksize cannot be specified for non-block layout SparseCsc
---
> zeros_like torch.sparse_bsc torch.sparse_csc [torch.sparse_csc, (4, 4), 0, [0, 0, 0, 0, 0], [], []]
120,121c120,121
< zeros_like torch.sparse_bsc torch.sparse_bsr [torch.sparse_bsr, (4, 4), 0, [0, 0, 0], [], []]
< empty_like torch.sparse_bsc torch.sparse_bsc [torch.sparse_bsc, (4, 4), 4, [0, 2, 4], [0, 1, 0, 1], [[[0.0, 0.0], [1.401298464324817e-45, 0.0]], [[4.203895392974451e-45, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]], [[0
---
> zeros_like torch.sparse_bsc torch.sparse_bsr RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsr
> empty_like torch.sparse_bsc torch.sparse_bsc [torch.sparse_bsc, (4, 4), 4, [0, 2, 4], [0, 1, 0, 1], [[[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0]]]]
123,124c123,124
< new_zeros torch.sparse_bsc RuntimeError empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got SparseBsc
< new_empty torch.sparse_bsc RuntimeError empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got SparseBsc
---
> new_zeros torch.sparse_bsc RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsc
> new_empty torch.sparse_bsc RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsc
128c128
< rand_like torch.sparse_bsc NotImplementedError Could not run 'aten::uniform_' with arguments from the 'SparseCsrCPU' backend. This could be because the operator doesn't exist for this backend, or was omitted during the
---
> rand_like torch.sparse_bsc NotImplementedError Could not run 'aten::rand_like' with arguments from the 'SparseBscCPU' backend: it is not implemented for sparse tensors. Convert them with `to_dense()` first.
130,139c130,139
< resize_ torch.sparse_bsc (2, 3) RuntimeError torch.resize_: Resizing columns of sparse CSR tensors to a smaller value is not supported. The original number of columns is 4 while the requested new number of columns is 3
< resize_ torch.sparse_bsc (5, 4) [torch.sparse_bsc, (5, 4), 4, [0, 2, 4, 4, 4, 4], [0, 1, 0, 1], [0.0, 1.0, 4.0, 5.0]]
< resize_ torch.sparse_bsc (4, 6) [torch.sparse_bsc, (4, 6), 4, [0, 2, 4, 4, 4], [0, 1, 0, 1], [0.0, 1.0, 4.0, 5.0]]
< resize_ torch.sparse_bsc (4, 4) [torch.sparse_bsc, (4, 4), 4, [0, 2, 4, 4, 4], [0, 1, 0, 1], [0.0, 1.0, 4.0, 5.0]]
< resize_ torch.sparse_bsc (16,) RuntimeError torch.resize_: Only batched sparse CSR matrices are supported, but got size [16]
< resize_ torch.sparse_bsc (2, 4, 4) [torch.sparse_bsc, (2, 4, 4), 4, [[0, 2, 4, 4, 4], [4674736414296899584, 4697254412440043520, 4715268810953719808, 4, 4]], [[0, 1, 0, 1], [0, 0, 192, 33]], [[0.0, 1.0, 4.0, 5.0], [8.0
< resize_ torch.sparse_bsc (1, 4) [torch.sparse_bsc, (1, 4), 4, [0, 4], [0, 1, 0, 1], [0.0, 1.0, 4.0, 5.0]]
< resize_ torch.sparse_bsc (3, 2) RuntimeError torch.resize_: Resizing columns of sparse CSR tensors to a smaller value is not supported. The original number of columns is 4 while the requested new number of columns is 2
< resize_as_ torch.sparse_bsc [torch.sparse_bsc, (4, 4), 4, [0, 2, 4, 4, 4], [0, 1, 0, 1], [0.0, 1.0, 4.0, 5.0]]
< resize_as_ b torch.sparse_bsc [torch.sparse_bsc, (4, 4), 4, [0, 2, 4, 4, 4], [0, 1, 0, 1], [0.0, 1.0, 4.0, 5.0]]
---
> resize_ torch.sparse_bsc (2, 3) RuntimeError resize_ expected sparse CSR tensor layout but got SparseBsc
> resize_ torch.sparse_bsc (5, 4) RuntimeError resize_ expected sparse CSR tensor layout but got SparseBsc
> resize_ torch.sparse_bsc (4, 6) RuntimeError resize_ expected sparse CSR tensor layout but got SparseBsc
> resize_ torch.sparse_bsc (4, 4) RuntimeError resize_ expected sparse CSR tensor layout but got SparseBsc
> resize_ torch.sparse_bsc (16,) RuntimeError resize_ expected sparse CSR tensor layout but got SparseBsc
> resize_ torch.sparse_bsc (2, 4, 4) RuntimeError resize_ expected sparse CSR tensor layout but got SparseBsc
> resize_ torch.sparse_bsc (1, 4) RuntimeError resize_ expected sparse CSR tensor layout but got SparseBsc
> resize_ torch.sparse_bsc (3, 2) RuntimeError resize_ expected sparse CSR tensor layout but got SparseBsc
> resize_as_ torch.sparse_bsc RuntimeError resize_ expected sparse CSR tensor layout but got SparseBsc
> resize_as_ b torch.sparse_bsc RuntimeError resize_ expected sparse CSR tensor layout but got SparseBsc
152,153c152,153
< zeros torch.sparse_csr (5,) RuntimeError torch.zeros: Only batched sparse compressed (non-block) tensors are supported, but got size [5]
< empty torch.sparse_csr (2, 2) [torch.sparse_csr, (2, 2), 0, [140480744463680, 140480744463680, 0], [], []]
---
> zeros torch.sparse_csr (5,) RuntimeError torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size [5]
> empty torch.sparse_csr (2, 2) [torch.sparse_csr, (2, 2), 0, [0, 0, 0], [], []]
155c155
< empty torch.sparse_csr (2, 2, 3) [torch.sparse_csr, (2, 2, 3), 0, [[140480744463728, 94785536457232, 94785536459696], [0, 0, 94785536459808]], [[], []], [[], []]]
---
> empty torch.sparse_csr (2, 2, 3) [torch.sparse_csr, (2, 2, 3), 0, [[0, 0, 0], [0, 0, 0]], [[], []], [[], []]]
157c157
< empty torch.sparse_csr (0, 2) [torch.sparse_csr, (0, 2), 0, [94785536456496], [], []]
---
> empty torch.sparse_csr (0, 2) [torch.sparse_csr, (0, 2), 0, [0], [], []]
160c160
< zeros torch.sparse_csr () RuntimeError torch.zeros: Only batched sparse compressed (non-block) tensors are supported, but got size []
---
> zeros torch.sparse_csr () RuntimeError torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size []
162,163c162,163
< zeros torch.sparse_csc (5,) RuntimeError torch.zeros: Only batched sparse compressed (non-block) tensors are supported, but got size [5]
< empty torch.sparse_csc (2, 2) [torch.sparse_csc, (2, 2), 0, [94770974393501, 0, 64], [], []]
---
> zeros torch.sparse_csc (5,) RuntimeError torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size [5]
> empty torch.sparse_csc (2, 2) [torch.sparse_csc, (2, 2), 0, [0, 0, 0], [], []]
165c165
< empty torch.sparse_csc (2, 2, 3) [torch.sparse_csc, (2, 2, 3), 0, [[94771027992286, 0, 94785536459520, 140480733253360], [94785536459520, 4674736414296964864, 40, 4683743612465316096]], [[], []], [[], []]]
---
> empty torch.sparse_csc (2, 2, 3) [torch.sparse_csc, (2, 2, 3), 0, [[0, 0, 0, 0], [0, 0, 0, 0]], [[], []], [[], []]]
167c167
< empty torch.sparse_csc (0, 2) [torch.sparse_csc, (0, 2), 0, [140480744463760, 140480744463760, 32], [], []]
---
> empty torch.sparse_csc (0, 2) [torch.sparse_csc, (0, 2), 0, [0, 0, 0], [], []]
170,191c170,191
< zeros torch.sparse_csc () RuntimeError torch.zeros: Only batched sparse compressed (non-block) tensors are supported, but got size []
< empty torch.sparse_bsr (5,) RuntimeError torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size [5]
< zeros torch.sparse_bsr (5,) RuntimeError torch.zeros: Only batched sparse compressed (non-block) tensors are supported, but got size [5]
< empty torch.sparse_bsr (2, 2) RuntimeError empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got SparseBsr
< zeros torch.sparse_bsr (2, 2) RuntimeError zeros_sparse_compressed expected sparse compressed (non-block) tensor layout but got SparseBsr
< empty torch.sparse_bsr (2, 2, 3) RuntimeError empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got SparseBsr
< zeros torch.sparse_bsr (2, 2, 3) RuntimeError zeros_sparse_compressed expected sparse compressed (non-block) tensor layout but got SparseBsr
< empty torch.sparse_bsr (0, 2) RuntimeError empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got SparseBsr
< zeros torch.sparse_bsr (0, 2) RuntimeError zeros_sparse_compressed expected sparse compressed (non-block) tensor layout but got SparseBsr
< empty torch.sparse_bsr () RuntimeError torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size []
< zeros torch.sparse_bsr () RuntimeError torch.zeros: Only batched sparse compressed (non-block) tensors are supported, but got size []
< empty torch.sparse_bsc (5,) RuntimeError torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size [5]
< zeros torch.sparse_bsc (5,) RuntimeError torch.zeros: Only batched sparse compressed (non-block) tensors are supported, but got size [5]
< empty torch.sparse_bsc (2, 2) RuntimeError empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got SparseBsc
< zeros torch.sparse_bsc (2, 2) RuntimeError zeros_sparse_compressed expected sparse compressed (non-block) tensor layout but got SparseBsc
< empty torch.sparse_bsc (2, 2, 3) RuntimeError empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got SparseBsc
< zeros torch.sparse_bsc (2, 2, 3) RuntimeError zeros_sparse_compressed expected sparse compressed (non-block) tensor layout but got SparseBsc
< empty torch.sparse_bsc (0, 2) RuntimeError empty_sparse_compressed expected sparse compressed (non-block) tensor layout but got SparseBsc
< zeros torch.sparse_bsc (0, 2) RuntimeError zeros_sparse_compressed expected sparse compressed (non-block) tensor layout but got SparseBsc
< empty torch.sparse_bsc () RuntimeError torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size []
< zeros torch.sparse_bsc () RuntimeError torch.zeros: Only batched sparse compressed (non-block) tensors are supported, but got size []
< resize_ batch (2, 5, 4) [torch.sparse_csr, (2, 5, 4), 12, [[0, 3, 6, 9, 12, 12], [3, 6, 9, 12, 40, 12]], [[1, 2, 3, 0, 2, 3, 0, 1, 3, 0, 1, 2], [1, 2, 3, 0, 2, 3, 0, 1, 3, 0, 1, 2]], [[1.0, 2.0, 3.0, 4.0, 6.0, 7.0, 8.0
---
> zeros torch.sparse_csc () RuntimeError torch.empty: Only batched sparse compressed (non-block) tensors are supported, but got size []
> empty torch.sparse_bsr (5,) RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsr
> zeros torch.sparse_bsr (5,) RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsr
> empty torch.sparse_bsr (2, 2) RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsr
> zeros torch.sparse_bsr (2, 2) RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsr
> empty torch.sparse_bsr (2, 2, 3) RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsr
> zeros torch.sparse_bsr (2, 2, 3) RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsr
> empty torch.sparse_bsr (0, 2) RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsr
> zeros torch.sparse_bsr (0, 2) RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsr
> empty torch.sparse_bsr () RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsr
> zeros torch.sparse_bsr () RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsr
> empty torch.sparse_bsc (5,) RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsc
> zeros torch.sparse_bsc (5,) RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsc
> empty torch.sparse_bsc (2, 2) RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsc
> zeros torch.sparse_bsc (2, 2) RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsc
> empty torch.sparse_bsc (2, 2, 3) RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsc
> zeros torch.sparse_bsc (2, 2, 3) RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsc
> empty torch.sparse_bsc (0, 2) RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsc
> zeros torch.sparse_bsc (0, 2) RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsc
> empty torch.sparse_bsc () RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsc
> zeros torch.sparse_bsc () RuntimeError torch.empty: Only sparse compressed (non-block) layouts are supported, but got torch.sparse_bsc
> resize_ batch (2, 5, 4) [torch.sparse_csr, (2, 5, 4), 12, [[0, 3, 6, 9, 12, 12], [0, 3, 6, 9, 12, 12]], [[1, 2, 3, 0, 2, 3, 0, 1, 3, 0, 1, 2], [1, 2, 3, 0, 2, 3, 0, 1, 3, 0, 1, 2]], [[1.0, 2.0, 3.0, 4.0, 6.0, 7.0, 8.0,
193,194c193,194
< resize_ batch (2, 2, 4) [torch.sparse_csr, (2, 2, 4), 8, [[0, 3, 8], [9, 12, 8]], [[1, 2, 3, 0, 2, 3, 0, 1], [3, 0, 1, 2, 1, 2, 3, 0]], [[1.0, 2.0, 3.0, 4.0, 6.0, 7.0, 8.0, 9.0], [11.0, 12.0, 13.0, 14.0, 2.0, 3.0, 4.0,
< resize_ batch (2, 2, 5) [torch.sparse_csr, (2, 2, 5), 10, [[0, 3, 10], [9, 12, 10]], [[1, 2, 3, 0, 2, 3, 0, 1, 3, 0], [1, 2, 1, 2, 3, 0, 2, 3, 0, 1]], [[1.0, 2.0, 3.0, 4.0, 6.0, 7.0, 8.0, 9.0, 11.0, 12.0], [13.0, 14.0,
---
> resize_ batch (2, 2, 4) [torch.sparse_csr, (2, 2, 4), 8, [[0, 3, 8], [0, 3, 8]], [[1, 2, 3, 0, 2, 3, 0, 1], [1, 2, 3, 0, 2, 3, 0, 1]], [[1.0, 2.0, 3.0, 4.0, 6.0, 7.0, 8.0, 9.0], [2.0, 3.0, 4.0, 5.0, 7.0, 8.0, 9.0, 10.0
> resize_ batch (2, 2, 5) [torch.sparse_csr, (2, 2, 5), 10, [[0, 3, 10], [0, 3, 10]], [[1, 2, 3, 0, 2, 3, 0, 1, 3, 0], [1, 2, 3, 0, 2, 3, 0, 1, 3, 0]], [[1.0, 2.0, 3.0, 4.0, 6.0, 7.0, 8.0, 9.0, 11.0, 12.0], [2.0, 3.0, 4.
199c199
< resize_ batch (3, 4, 4) [torch.sparse_csr, (3, 4, 4), 12, [[0, 3, 6, 9, 12], [0, 3, 6, 9, 12], [7308324465835925846, 7146703944477079892, 2321940070857863280, 7021788497416905051, 7810770566350839908]], [[1, 2, 3, 0, 2
---
> resize_ batch (3, 4, 4) RuntimeError torch.resize_: cannot add matrices to a batch: from [2, 4, 4] to [3, 4, 4]
211,218c211,215
< new6 TypeError new() received an invalid combination of arguments - got (list), but expected one of:
<  * (*, torch.device device = None)
<  * (Tensor indices, Tensor values, *, torch.device device = None)
<  * (Tensor indices, Tensor values, tuple of ints size, *, torch
< new7 TypeError new() received an invalid combination of arguments - got (Tensor), but expected one of:
<  * (*, torch.device device = None)
<  * (Tensor indices, Tensor values, *, torch.device device = None)
<  * (Tensor indices, Tensor values, tuple of ints size, *, tor
---
> new6 TypeError new() takes tensors of indices and values and a size, or a size, but got ([[0, 1], [1, 0]],)
> new7 TypeError new() takes tensors of indices and values and a size, or a size, but got (tensor(indices=tensor([[0, 0, 0, 1, 1, 1, 2, 2],
>                        [0, 2, 3, 1, 2, 3, 0, 1]]),
>        values=tensor([1., 2., 3., 4., 5., 6., 7., 8.]),
>        size=(3, 4), 
221,222c218,219
< csr new RuntimeError Cannot map DispatchKey SparseCsrCPU to a unique layout.
< csr new RuntimeError Cannot map DispatchKey SparseCsrCPU to a unique layout.
---
> csr new RuntimeError new(): not supported for tensors in layout torch.sparse_csr
> csr new RuntimeError new(): not supported for tensors in layout torch.sparse_csr
