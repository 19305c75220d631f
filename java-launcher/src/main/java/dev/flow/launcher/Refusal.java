package dev.flow.launcher;

/** Why {@code flow} cannot be run here, for the user. */
final class Refusal extends Exception {
    private static final long serialVersionUID = 1;

    Refusal(String message) {
        super(message);
    }
}
