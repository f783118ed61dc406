//! Argument parsing and printing.
