package bench;

import java.util.Arrays;
import java.util.concurrent.CountDownLatch;

/**
 * Many threads alive at once, next to a heap of fixed size: what recording adds to the memory of a program.
 *
 * <p>{@code Threads COUNT HEAP_MIB} fills a heap and starts threads. Each makes more calls than one chunk holds, then
 * waits for the last one, so that all threads hold their memory at the same time.
 */
public final class Threads {
    private static final int CALLS = 50_000;

    private final CountDownLatch called;
    private final CountDownLatch end = new CountDownLatch(1);

    private Threads(int count) {
        called = new CountDownLatch(count);
    }

    public static void main(String[] args) throws InterruptedException {
        int count = Integer.parseInt(args[0]);
        byte[][] heap = new byte[Integer.parseInt(args[1])][];
        for (int i = 0; i < heap.length; i++) {
            heap[i] = new byte[1 << 20];
            // A page that was never written takes no memory.
            Arrays.fill(heap[i], (byte) 1);
        }
        new Threads(count).runAll(count);
        // Read again, so that the heap is alive while the threads are.
        System.out.println(Arrays.stream(heap).mapToInt(part -> part[0]).sum());
    }

    private void runAll(int count) throws InterruptedException {
        Thread[] threads = new Thread[count];
        for (int i = 0; i < count; i++) {
            threads[i] = new Thread(this::run);
            threads[i].start();
        }
        called.await();
        end.countDown();
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private void run() {
        int value = 0;
        for (int i = 0; i < CALLS; i++) {
            value = next(value);
        }
        called.countDown();
        try {
            end.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException("nobody interrupts thread " + value, e);
        }
    }

    private static int next(int value) {
        return value * 31 + 1;
    }
}
