import scala.Option;
import scala.collection.concurrent.TrieMap;
import scala.collection.immutable.LazyList;
import scala.collection.immutable.List$;
import scala.collection.mutable.StringBuilder;
import scala.concurrent.Await$;
import scala.concurrent.ExecutionContext$;
import scala.concurrent.Future;
import scala.concurrent.Future$;
import scala.concurrent.Promise;
import scala.concurrent.Promise$;
import scala.concurrent.duration.Duration$;
import scala.util.Random;
import scala.util.matching.Regex;

/** Runs code of scala-library, above all what locks: {@code lazy val} does. */
final class ScalaCode {
    public static void main(String[] arguments) throws Exception {
        for (int i = 0; i < 20; i++) {
            collections(i);
            futures(i);
        }
        System.out.println("ran");
        System.exit(0);
    }

    private static void collections(int i) {
        LazyList<Object> numbers = scala.collection.immutable.LazyList$.MODULE$.from(i);
        numbers.map(it -> (Integer) it + 1).filter(it -> it % 2 == 0).take(50).toList().toString();
        numbers.take(200).toVector().reverse().toString();
        TrieMap<Object, Object> map = new TrieMap<>();
        for (int n = 0; n < 100; n++) {
            map.put(n, "value " + n);
        }
        map.readOnlySnapshot().toString();
        Option<String> found = new Regex("a+(b)", List$.MODULE$.<String>empty().toSeq()).findFirstIn("xaab");
        new StringBuilder().append(found.toString()).append(new Random(i).nextInt());
        numbers.take(10).toList().sorted(scala.math.Ordering.Int$.MODULE$).toString();
        scala.math.BigDecimal$.MODULE$.apply("1.5").toString();
        scala.util.Properties$.MODULE$.versionString();
        scala.io.Codec$.MODULE$.UTF8();
    }

    private static void futures(int i) throws Exception {
        var context = ExecutionContext$.MODULE$.global();
        Future<Integer> future = Future$.MODULE$.apply(() -> i, context);
        Future<Integer> mapped = future.map(it -> it + 1, context);
        Promise<Integer> promise = Promise$.MODULE$.apply();
        promise.completeWith(mapped);
        Await$.MODULE$.result(promise.future(), Duration$.MODULE$.apply("60 s"));
        scala.concurrent.package$.MODULE$.blocking(() -> i);
    }
}
