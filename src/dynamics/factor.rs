//! The sparse factorisation `H = Lᵀ L` along the tree (Featherstone 2008, section 6.5).
//!
//! Only entries between a degree of freedom and its ancestors are non-zero, in `H` and in `L`. Rows are packed: row k
//! holds the entries of k's chain, so that the row of an ancestor lines up with the front of the row of its descendant and
//! all inner loops are contiguous.

use super::tree::Tree;

/// A symmetric positive definite matrix with the sparsity of a tree, then its factor, in the same storage.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Factor {
    packed: Vec<f64>,
    /// `1 / L_kk`.
    inverse_diagonal: Vec<f64>,
}

impl Factor {
    pub fn new(tree: &Tree) -> Factor {
        Factor {
            packed: vec![0.0; tree.packed_len()],
            inverse_diagonal: vec![0.0; tree.dofs],
        }
    }

    /// Packed row of degree of freedom `k`: one entry per member of its chain.
    pub fn row<'a>(&'a self, tree: &Tree, k: usize) -> &'a [f64] {
        &self.packed[tree.row_start[k]..tree.row_start[k + 1]]
    }

    pub(crate) fn packed_mut(&mut self) -> &mut [f64] {
        &mut self.packed
    }

    /// Takes over the packed matrix `h` of another factor of the same tree, before factorising.
    pub fn copy_matrix(&mut self, h: &Factor) {
        self.packed.copy_from_slice(&h.packed);
    }

    /// Adds `value` to the diagonal entry of `k`.
    pub fn add_diagonal(&mut self, tree: &Tree, k: usize, value: f64) {
        self.packed[tree.row_start[k + 1] - 1] += value;
    }

    /// Entry (i, j) of the matrix before factorisation; zero off the tree's branches.
    pub fn get(&self, tree: &Tree, i: usize, j: usize) -> f64 {
        let (row, column) = (i.max(j), i.min(j));
        match tree.chain(row).binary_search(&(column as u32)) {
            Ok(position) => self.packed[tree.row_start[row] + position],
            Err(_) => 0.0,
        }
    }

    /// Replaces the matrix by its factor. Returns the first degree of freedom whose pivot is not positive and finite.
    pub fn factorize(&mut self, tree: &Tree) -> Result<(), usize> {
        for k in (0..tree.dofs).rev() {
            let start = tree.row_start[k];
            let (before, row_k) = self.packed.split_at_mut(start);
            let row_k = &mut row_k[..tree.row_start[k + 1] - start];
            let depth = row_k.len() - 1;
            let pivot = row_k[depth];
            if !(pivot > 0.0 && pivot < f64::INFINITY) {
                return Err(k);
            }
            let diagonal = pivot.sqrt();
            let inverse = 1.0 / diagonal;
            self.inverse_diagonal[k] = inverse;
            row_k[depth] = diagonal;
            for entry in &mut row_k[..depth] {
                *entry *= inverse;
            }
            // subtract the outer product from the rows of the ancestors
            let chain = &tree.chain[start..start + depth];
            for (a, &ancestor) in chain.iter().enumerate() {
                let scale = row_k[a];
                let ancestor_start = tree.row_start[ancestor as usize];
                let row = &mut before[ancestor_start..ancestor_start + a + 1];
                for (entry, &l) in row.iter_mut().zip(&row_k[..a + 1]) {
                    *entry -= scale * l;
                }
            }
        }
        Ok(())
    }

    /// `x ← L⁻ᵀ x`.
    pub fn solve_transposed(&self, tree: &Tree, x: &mut [f64]) {
        for k in (0..tree.dofs).rev() {
            let range = tree.row_start[k]..tree.row_start[k + 1];
            let row = &self.packed[range.clone()];
            let depth = row.len() - 1;
            let value = x[k] * self.inverse_diagonal[k];
            x[k] = value;
            for (&ancestor, &l) in tree.chain[range].iter().zip(&row[..depth]) {
                x[ancestor as usize] -= l * value;
            }
        }
    }

    /// `x ← L⁻¹ x`.
    pub fn solve_lower(&self, tree: &Tree, x: &mut [f64]) {
        for k in 0..tree.dofs {
            let range = tree.row_start[k]..tree.row_start[k + 1];
            let row = &self.packed[range.clone()];
            let depth = row.len() - 1;
            let mut value = x[k];
            for (&ancestor, &l) in tree.chain[range].iter().zip(&row[..depth]) {
                value -= l * x[ancestor as usize];
            }
            x[k] = value * self.inverse_diagonal[k];
        }
    }

    /// `x ← H⁻¹ x`.
    pub fn solve(&self, tree: &Tree, x: &mut [f64]) {
        self.solve_transposed(tree, x);
        self.solve_lower(tree, x);
    }

    /// `z ← L⁻ᵀ z` for `N` right-hand sides at once that are zero off the chain of `tip`; `z[a]` belongs to the a-th member
    /// of the chain.
    pub(crate) fn solve_transposed_on_chain<const N: usize>(&self, tree: &Tree, tip: usize, z: &mut [[f64; N]]) {
        let chain = tree.chain(tip);
        for a in (0..chain.len()).rev() {
            let k = chain[a] as usize;
            let row = &self.packed[tree.row_start[k]..tree.row_start[k] + a];
            let inverse = self.inverse_diagonal[k];
            let (above, own) = z.split_at_mut(a);
            for value in &mut own[0] {
                *value *= inverse;
            }
            for (entry, &l) in above.iter_mut().zip(row) {
                for n in 0..N {
                    entry[n] -= l * own[0][n];
                }
            }
        }
    }
}
