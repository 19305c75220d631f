package harness;

import java.io.IOException;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.function.IntConsumer;

/**
 * Eight threads that at the same moment call the same 200 methods for the first time, in different orders, 20 times
 * over.
 *
 * <p>For each round the class {@link TwoHundred} is defined again, so that its methods are new to the JVM, although
 * they have the same names. Tree of each {@code caller-N}: {@code Caller.run}, under it 20 {@code round}, under each of
 * these 200 times {@code TwoHundred.accept > mK}, each {@code K} once. In all, each {@code mK} is called 160 times.
 */
public final class Concurrent {
    private static final int ROUNDS = 20;
    private static final int METHODS = 200;

    /**
     * One thread for each stride. No stride has a common divisor with the number of methods, so each thread reaches
     * every method once.
     */
    private static final int[] STRIDES = {1, 3, 7, 9, 11, 13, 17, 199};

    private Concurrent() {}

    public static void main(String[] args) throws Exception {
        IntConsumer[] subjects = subjects();
        CyclicBarrier barrier = new CyclicBarrier(STRIDES.length);
        Thread[] threads = new Thread[STRIDES.length];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(new Caller(i, subjects, barrier), "caller-" + i);
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("called " + ROUNDS * METHODS * STRIDES.length);
    }

    private static IntConsumer[] subjects() throws IOException, ReflectiveOperationException {
        byte[] classFile = Templates.read("TwoHundred");
        IntConsumer[] subjects = new IntConsumer[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            subjects[round] = (IntConsumer) new Templates.Loader().instantiate(classFile);
        }
        return subjects;
    }

    private static final class Caller implements Runnable {
        private final int number;
        private final IntConsumer[] subjects;
        private final CyclicBarrier barrier;

        Caller(int number, IntConsumer[] subjects, CyclicBarrier barrier) {
            this.number = number;
            this.subjects = subjects;
            this.barrier = barrier;
        }

        @Override
        public void run() {
            for (IntConsumer subject : subjects) {
                round(subject);
            }
        }

        private void round(IntConsumer subject) {
            try {
                barrier.await();
            } catch (InterruptedException | BrokenBarrierException unexpected) {
                throw new IllegalStateException(unexpected);
            }
            for (int i = 0; i < METHODS; i++) {
                subject.accept((i * STRIDES[number] + number) % METHODS);
            }
        }
    }
}
