package harness;

import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;

/**
 * Classes that are loaded, called once and unloaded, so that the JVM may use their memory again for others.
 *
 * <p>Arguments: the number of classes (500, at most 9999). Tree of {@code main}: for each number {@code N} a {@code
 * loadAndCall}, under which are, besides the methods of {@link Templates}, {@code TemplateN.<init>} and {@code
 * TemplateN.run > mN}. Then {@code twoLoaders}: the same class name in two loaders that are both alive, called three
 * times each in turns: {@code Template0000.<init>} twice, {@code run > m0000} six times. Prints how many classes it
 * called and whether any was unloaded.
 */
public final class Unloading {
    private Unloading() {}

    public static void main(String[] args) throws Exception {
        int count = args.length > 0 ? Integer.parseInt(args[0]) : 500;
        byte[] template = Templates.read("Template0000");
        List<WeakReference<Object>> loaders = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            loaders.add(new WeakReference<>(loadAndCall(template, number)));
            if (number % 50 == 49) {
                System.gc();
            }
        }
        System.gc();
        boolean unloaded = false;
        for (WeakReference<Object> loader : loaders) {
            unloaded |= loader.get() == null;
        }
        twoLoaders(template);
        System.out.println("called " + count);
        System.out.println(unloaded ? "unloaded" : "nothing unloaded");
    }

    private static Object loadAndCall(byte[] template, int number) throws Exception {
        Templates.Loader loader = new Templates.Loader();
        ((Runnable) loader.instantiate(Templates.numbered(template, number))).run();
        return loader;
    }

    private static void twoLoaders(byte[] template) throws Exception {
        Runnable one = (Runnable) new Templates.Loader().instantiate(template);
        Runnable other = (Runnable) new Templates.Loader().instantiate(template);
        for (int i = 0; i < 3; i++) {
            one.run();
            other.run();
        }
    }
}
