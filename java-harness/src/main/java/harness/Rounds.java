package harness;

import java.io.IOException;
import java.io.PrintStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Threads that do rounds of calls which follow from a seed, and acknowledge every round. So the least content of a
 * trace is known however the process ends. {@code tests/support/rounds.rs} computes the same calls.
 *
 * <p>Arguments: SEED THREADS ROUNDS WORKERS WAY FILE. The main thread does ROUNDS rounds as player 0. So do THREADS
 * workers if WORKERS is {@code joined}, and the main thread waits for them; if it is {@code daemons}, their rounds are
 * endless. So are negative ROUNDS; then each thread prints {@code PLAYER ROUND} now and then. WAY is how the program
 * ends, see {@link #end}. FILE gets a word of eight bytes in the system's order for every player, 64 bytes apart: the
 * number of its complete rounds, stored after their calls.
 *
 * <p>Before it ends by itself it prints {@code acknowledged} and the rounds of each player. Tree of {@code main}:
 * {@code main > Templates.read, map, Player.<init> > TwoHundred.<init>} for each player, {@code Player.run > round}…,
 * {@code acknowledge}, {@code end}; of {@code worker-N}: {@code Player.run > round}….
 */
public final class Rounds {
    private static final int APART = 64;

    private static volatile boolean stopped;

    private Rounds() {}

    public static void main(String[] args) throws Exception {
        long seed = Long.parseLong(args[0]);
        int threads = Integer.parseInt(args[1]);
        long rounds = Long.parseLong(args[2]);
        boolean joined = args[3].equals("joined");
        String way = args[4];
        byte[] template = Templates.read("Template0000");
        ByteBuffer acknowledged = map(Path.of(args[5]), (threads + 2) * APART);
        VarHandle words = MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());
        Player[] players = new Player[threads + 2];
        for (int i = 0; i < players.length; i++) {
            players[i] = new Player(seed, i, i == 0 || i > threads || joined ? rounds : -1, template, words, acknowledged);
        }
        Thread[] workers = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            workers[i] = new Thread(players[i + 1], "worker-".concat(Integer.toString(i + 1)));
            workers[i].setDaemon(!joined);
            workers[i].start();
        }
        if (way.equals("hook") || way.equals("term")) {
            Runtime.getRuntime().addShutdownHook(new Thread(players[threads + 1], "hook"));
        }
        players[0].run();
        if (way.equals("wait")) {
            System.out.println("waiting");
            while (System.in.read() >= 0) {
                // The process that started this one closes it.
            }
            stopped = true;
            joined = true;
        }
        for (int i = 0; joined && i < threads; i++) {
            workers[i].join();
        }
        acknowledge(players);
        end(way);
    }

    private static ByteBuffer map(Path file, int bytes) throws IOException {
        try (FileChannel channel = FileChannel.open(
                file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
            return channel.map(FileChannel.MapMode.READ_WRITE, 0, bytes);
        }
    }

    private static void acknowledge(Player[] players) {
        StringBuilder line = new StringBuilder("acknowledged");
        for (Player player : players) {
            line.append(' ').append(player.done);
        }
        System.out.println(line);
        System.out.flush();
    }

    /** Ends the program; {@code return}, {@code wait}, {@code hook} and any other way return from main. */
    private static void end(String way) throws Exception {
        switch (way) {
            case "exit":
                System.exit(3);
                break;
            case "halt":
                Runtime.getRuntime().halt(4);
                break;
            case "uncaught":
                throw new IllegalStateException("uncaught");
            case "oom":
                System.out.println(new long[Integer.MAX_VALUE - 8].length);
                break;
            case "abort":
            case "term":
                String process = Long.toString(ProcessHandle.current().pid());
                String signal = way.equals("term") ? "TERM" : "ABRT";
                new ProcessBuilder("sh", "-c", "kill -" + signal + " " + process).start();
                while (true) {
                    Thread.sleep(1000);
                }
            default:
        }
    }

    private static final class Player implements Runnable {
        private static final int FRESH = 900;
        private static final int PRINTS_EVERY = 1024;

        private final long seed;
        private final int index;
        private final long rounds;
        private final byte[] template;
        private final VarHandle words;
        private final ByteBuffer acknowledged;
        private final TwoHundred many = new TwoHundred();
        private final PrintStream out = System.out;
        private int fresh;
        private int sum;
        private volatile long done;

        Player(long seed, int index, long rounds, byte[] template, VarHandle words, ByteBuffer acknowledged) {
            this.seed = seed;
            this.index = index;
            this.rounds = rounds;
            this.template = template;
            this.words = words;
            this.acknowledged = acknowledged;
        }

        @Override
        public void run() {
            try {
                for (long n = 0; n != rounds && !stopped; n++) {
                    round(n);
                    done = n + 1;
                    words.setRelease(acknowledged, index * APART, n + 1);
                    if (rounds < 0 && index == 0 && done % PRINTS_EVERY == 0) {
                        out.println(done);
                        out.flush();
                    }
                }
            } catch (IOException | ReflectiveOperationException unexpected) {
                throw new IllegalStateException(unexpected);
            }
        }

        private void round(long n) throws IOException, ReflectiveOperationException {
            long random = mix(seed + index * 0x9E3779B97F4A7C15L + n * 0xD1B54A32D192ED03L);
            int number = (int) (random >>> 8) & 0x3F;
            switch ((int) random & 7) {
                case 0:
                    sum += leaf(number);
                    break;
                case 1:
                    sum += deep(number);
                    break;
                case 2:
                    caught(number % 8);
                    break;
                case 3:
                    sum += new Derived(number).number;
                    break;
                case 4:
                    refused(number);
                    break;
                case 5:
                    many.accept(number * 3);
                    break;
                case 6:
                    burst(number);
                    break;
                default:
                    if (number == 0 && fresh < FRESH) {
                        fresh(index * 1000 + fresh++);
                    } else {
                        finished(number % 8);
                    }
            }
        }

        private static long mix(long z) {
            z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
            z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
            return z ^ (z >>> 31);
        }

        private static int leaf(int number) {
            return number * 31;
        }

        private static int deep(int number) {
            return number == 0 ? 0 : deep(number - 1) + 1;
        }

        private void caught(int number) {
            try {
                thrown(number);
            } catch (IllegalStateException expected) {
                handled();
            }
        }

        private void thrown(int number) {
            if (number == 0) {
                throw new IllegalStateException();
            }
            thrown(number - 1);
        }

        private void handled() {
            sum++;
        }

        /** The constructor of the super class throws. */
        private void refused(int number) {
            try {
                sum += new Derived(-1 - number).number;
            } catch (IllegalArgumentException expected) {
                handled();
            }
        }

        private void burst(int number) {
            for (int i = 0; i < number; i++) {
                sum += leaf(i);
            }
        }

        private void finished(int number) {
            try {
                sum += deep(number);
            } finally {
                sum += leaf(number);
            }
        }

        /** A new class with new names. */
        private void fresh(int number) throws IOException, ReflectiveOperationException {
            byte[] classFile = Templates.numbered(template, number);
            ((Runnable) new Templates.Loader().instantiate(classFile)).run();
        }
    }

    private static class Base {
        final int number;

        Base(int number) {
            if (number < 0) {
                throw new IllegalArgumentException();
            }
            this.number = number;
        }
    }

    private static final class Derived extends Base {
        Derived(int number) {
            super(number);
        }
    }
}
