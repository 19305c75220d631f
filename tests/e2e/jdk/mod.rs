//! What depends on the JDK: Java 8, and classes of the JDK itself.

mod java_8;
mod jdk_classes;
