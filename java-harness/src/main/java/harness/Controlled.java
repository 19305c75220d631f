package harness;

import dev.flow.Flow;
import dev.flow.TestOutcome;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;

/**
 * Executes the lines on its input, and prints a line after each: {@code is}, whether it is being recorded, {@code note
 * TEXT}, {@code test NAME}, {@code passed NAME}, {@code failed NAME}, {@code snapshot NAME}, {@code pause}, {@code resume}, {@code step}: the call of a method.
 */
public final class Controlled {
    private Controlled() {}

    public static void main(String[] args) throws IOException {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ", 2);
            switch (words[0]) {
                case "is":
                    System.out.println(Flow.isRecording());
                    break;
                case "note":
                    Flow.note(words[1]);
                    System.out.println("noted");
                    break;
                case "test":
                    Flow.testStarted(words[1], null);
                    System.out.println("started");
                    break;
                case "passed":
                    Flow.testEnded(words[1], TestOutcome.PASSED, null);
                    System.out.println("ended");
                    break;
                case "failed":
                    Flow.testEnded(words[1], TestOutcome.FAILED, "wrong");
                    System.out.println("ended");
                    break;
                case "snapshot":
                    System.out.println(Flow.snapshot(words[1]));
                    break;
                case "pause":
                    Flow.pause();
                    System.out.println("paused");
                    break;
                case "resume":
                    Flow.resume();
                    System.out.println("resumed");
                    break;
                default:
                    step();
                    System.out.println("stepped");
            }
        }
    }

    private static void step() {}
}
