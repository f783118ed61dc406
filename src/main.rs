fn main() -> std::process::ExitCode {
    ambler::cli::main()
}
