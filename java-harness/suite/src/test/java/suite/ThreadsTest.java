package suite;

import java.lang.reflect.Method;
import oracle.Oracle;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Isolated;

@Isolated
class ThreadsTest {
    ThreadsTest() {
        Oracle.enter("suite.ThreadsTest.<init>()V");
        Oracle.leave();
    }

    private static final class Job implements Runnable {
        private final int frames;

        Job(int frames) {
            Oracle.enter("suite.ThreadsTest$Job.<init>(I)V");
            this.frames = frames;
            Oracle.leave();
        }

        @Override
        public void run() {
            Oracle.enter("suite.ThreadsTest$Job.run()V");
            try {
                Work.chain(frames);
            } finally {
                Oracle.leave();
            }
        }
    }

    @Test
    void oneThread() throws Exception {
        Oracle.enter("suite.ThreadsTest.oneThread()V");
        try {
            Thread thread = new Thread(new Job(4), "one");
            thread.start();
            Work.chain(2);
            thread.join();
        } finally {
            Oracle.leave();
        }
    }

    @Test
    void manyThreads() throws Exception {
        Oracle.enter("suite.ThreadsTest.manyThreads()V");
        try {
            Thread[] threads = new Thread[20];
            for (int i = 0; i < threads.length; i++) {
                threads[i] = new Thread(new Job(i + 1), "many " + i);
                threads[i].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
        } finally {
            Oracle.leave();
        }
    }

    @Test
    void virtualThreads() throws Exception {
        Oracle.enter("suite.ThreadsTest.virtualThreads()V");
        try {
            Method start = startVirtualThread();
            Assumptions.assumeTrue(start != null, "no virtual threads");
            Thread[] threads = new Thread[50];
            for (int i = 0; i < threads.length; i++) {
                threads[i] = (Thread) start.invoke(null, new Job(i % 5 + 1));
            }
            for (Thread thread : threads) {
                thread.join();
            }
        } finally {
            Oracle.leave();
        }
    }

    private static Method startVirtualThread() {
        Oracle.enter("suite.ThreadsTest.startVirtualThread()Ljava/lang/reflect/Method;");
        try {
            return Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException none) {
            return null;
        } finally {
            Oracle.leave();
        }
    }
}
