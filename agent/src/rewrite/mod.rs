//! Class file in, class file with probes out. Pure and safe: knows no JVM, opens no file.
