package app;

import io.reactivex.rxjava3.core.Single;
import io.reactivex.rxjava3.schedulers.Schedulers;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;

/** Streams of RxJava that change their threads. */
final class Streams {
    private static final Executor POOL = Executors.newFixedThreadPool(3);

    private Streams() {}

    public static void main(String[] args) throws Exception {
        Work.make(Streams::request);
    }

    private static void request(String id) {
        Single.fromCallable(() -> Work.stepOf(id, "loaded"))
                .subscribeOn(Schedulers.io())
                .observeOn(Schedulers.computation())
                .map(same -> Work.stepOf(id, "changed"))
                .observeOn(Schedulers.from(POOL))
                .subscribe(same -> Work.lastStep(id, "used"));
    }
}
