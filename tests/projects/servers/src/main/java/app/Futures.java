package app;

import com.google.common.util.concurrent.FutureCallback;
import com.google.common.util.concurrent.ListenableFuture;
import com.google.common.util.concurrent.ListeningExecutorService;
import com.google.common.util.concurrent.MoreExecutors;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;

/** Futures of Guava, what follows on one thread at a time. */
final class Futures {
    private static final ListeningExecutorService POOL = MoreExecutors.listeningDecorator(Executors.newFixedThreadPool(3));
    private static final Executor ONE = MoreExecutors.newSequentialExecutor(POOL);

    private Futures() {}

    public static void main(String[] args) throws Exception {
        Work.make(Futures::request);
    }

    private static void request(String id) {
        ListenableFuture<String> loaded = POOL.submit(() -> Work.stepOf(id, "loaded"));
        ListenableFuture<String> changed =
                com.google.common.util.concurrent.Futures.transform(loaded, same -> Work.stepOf(id, "changed"), ONE);
        FutureCallback<String> callback =
                new FutureCallback<>() {
                    @Override
                    public void onSuccess(String result) {
                        Work.lastStep(id, "used");
                    }

                    @Override
                    public void onFailure(Throwable thrown) {}
                };
        com.google.common.util.concurrent.Futures.addCallback(changed, callback, ONE);
    }
}
