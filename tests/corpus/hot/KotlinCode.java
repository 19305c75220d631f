import java.util.ArrayList;
import java.util.List;
import kotlin.Lazy;
import kotlin.LazyKt;
import kotlin.collections.CollectionsKt;
import kotlin.coroutines.EmptyCoroutineContext;
import kotlin.random.Random;
import kotlin.sequences.SequencesKt;
import kotlin.text.Regex;
import kotlin.text.StringsKt;
import kotlinx.coroutines.BuildersKt;
import kotlinx.coroutines.CompletableJob;
import kotlinx.coroutines.DelayKt;
import kotlinx.coroutines.Dispatchers;
import kotlinx.coroutines.JobKt;
import kotlinx.coroutines.TimeoutKt;
import kotlinx.coroutines.channels.BufferOverflow;
import kotlinx.coroutines.channels.Channel;
import kotlinx.coroutines.channels.ChannelKt;
import kotlinx.coroutines.sync.Mutex;
import kotlinx.coroutines.sync.MutexKt;

/** Runs code of kotlin-stdlib and kotlinx-coroutines, above all what locks. */
final class KotlinCode {
    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 20; i++) {
            library(i);
            jobs(i);
            suspending();
        }
        System.out.println("ran");
        System.exit(0);
    }

    private static void library(int i) {
        Lazy<Integer> lazy = LazyKt.lazy(() -> i);
        lazy.getValue();
        lazy.getValue();
        List<Integer> numbers = new ArrayList<>(CollectionsKt.listOf(3, 1, 2, i));
        CollectionsKt.shuffled(numbers, kotlin.random.RandomKt.Random(i));
        SequencesKt.toList(
                SequencesKt.filter(
                        SequencesKt.map(CollectionsKt.asSequence(numbers), it -> it + 1),
                        it -> it > 2));
        new Regex("a+(b)").find("xaab" + i, 0).getGroupValues();
        StringsKt.split("a,b,c" + i, new String[] {","}, false, 0);
        Random.Default.nextInt(10);
    }

    private static void jobs(int i) throws InterruptedException {
        CompletableJob parent = JobKt.Job(null);
        CompletableJob child = JobKt.Job(parent);
        child.invokeOnCompletion(cause -> kotlin.Unit.INSTANCE);
        child.complete();
        CompletableJob failing = JobKt.Job(parent);
        failing.completeExceptionally(new IllegalStateException("expected " + i));
        parent.cancel(null);
        Channel<Integer> channel = ChannelKt.Channel(4, BufferOverflow.SUSPEND, null);
        BuildersKt.runBlocking(
                EmptyCoroutineContext.INSTANCE, (scope, next) -> channel.send(i, next));
        BuildersKt.runBlocking(
                EmptyCoroutineContext.INSTANCE, (scope, next) -> channel.receive(next));
        channel.close(null);
        Mutex mutex = MutexKt.Mutex(false);
        mutex.tryLock(null);
        mutex.unlock(null);
    }

    private static void suspending() throws InterruptedException {
        BuildersKt.runBlocking(
                EmptyCoroutineContext.INSTANCE, (scope, next) -> DelayKt.delay(1, next));
        BuildersKt.runBlocking(
                Dispatchers.getDefault(), (scope, next) -> DelayKt.delay(1, next));
        BuildersKt.runBlocking(
                Dispatchers.getIO(),
                (scope, next) ->
                        TimeoutKt.withTimeoutOrNull(
                                1, (inner, after) -> DelayKt.delay(1000, after), next));
    }
}
