package harness;

import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Map;
import java.util.Set;

/**
 * Prints what a program sees of its JVM by accident, and what is the same in each run of it: identity hash codes in {@code
 * main}, the threads in its group, and the id of its next thread.
 */
public final class Seen {
    private static final int OBJECTS = 20;

    private final int number;

    private Seen(int number) {
        this.number = number;
    }

    public static void main(String[] args) {
        System.out.println(new Object());
        Set<Seen> set = new HashSet<>();
        Map<Seen, Integer> map = new IdentityHashMap<>();
        for (int i = 0; i < OBJECTS; i++) {
            set.add(new Seen(i));
            map.put(new Seen(i), i);
        }
        System.out.println(set);
        System.out.println(map.values());
        Thread[] threads = new Thread[OBJECTS];
        int count = Thread.currentThread().getThreadGroup().enumerate(threads);
        for (int i = 0; i < count; i++) {
            System.out.println(threads[i].getName());
        }
        if (args.length == 0) {
            System.out.println(new Thread(() -> {}).getId());
        }
    }

    @Override
    public String toString() {
        return Integer.toString(number);
    }
}
