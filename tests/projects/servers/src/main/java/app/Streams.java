package app;

import io.reactivex.rxjava3.core.Single;
import io.reactivex.rxjava3.schedulers.Schedulers;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;

/** Streams of RxJava that change their threads. */
final class Streams {
    private static final Executor POOL = Executors.newFixedThreadPool(3);
    private static final CountDownLatch ENDED = new CountDownLatch(Work.REQUESTS);

    private Streams() {}

    public static void main(String[] args) throws Exception {
        for (int id = 0; id < Work.REQUESTS; id++) {
            request(Integer.toString(id));
        }
        ENDED.await();
        System.exit(0);
    }

    private static void request(String id) {
        Single.fromCallable(() -> step(id, "loaded"))
                .subscribeOn(Schedulers.io())
                .observeOn(Schedulers.computation())
                .map(same -> step(id, "changed"))
                .observeOn(Schedulers.from(POOL))
                .subscribe(
                        same -> {
                            step(id, "used");
                            ENDED.countDown();
                        });
    }

    private static String step(String id, String what) {
        Work.step(id, what);
        return id;
    }
}
