package harness;

import java.lang.reflect.Method;
import java.util.Collections;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.TreeSet;

/** Requests whose routes are found inside of them, and messages with their consumers. Each step has the name of what it is for. */
public final class Routed {
    private Routed() {}

    enum Verb {
        GET,
        POST
    }

    static final class Pattern implements Comparable<Pattern> {
        final String text;

        Pattern(String text) {
            this.text = text;
        }

        @Override
        public int compareTo(Pattern other) {
            return text.compareTo(other.text);
        }
    }

    static final class Mapping {
        final Set<Verb> verbs;
        final Set<Pattern> patterns = new TreeSet<>();
        final Set<String> names;

        Mapping(Set<Verb> verbs, String... patterns) {
            this.verbs = verbs;
            for (String pattern : patterns) {
                this.patterns.add(new Pattern(pattern));
            }
            names = null;
        }

        Mapping(String name) {
            verbs = new LinkedHashSet<>();
            names = Collections.singleton(name);
        }
    }

    static class Servlet {
        final void service(Runnable body) {
            body.run();
        }
    }

    static final class Hello extends Servlet {}

    /** Calls a method for messages. */
    static final class Invocable {
        final Method method;

        Invocable(String name) throws NoSuchMethodException {
            method = Routed.class.getDeclaredMethod(name);
        }

        void invoke() {
            try {
                method.invoke(null);
            } catch (ReflectiveOperationException e) {
                throw new AssertionError(e);
            }
        }
    }

    static void receive(Runnable body) {
        body.run();
    }

    static void match(Mapping mapping) {}

    /** Finds the route in two parts. */
    static void match(String path, String rest) {}

    static void set(String key, String value) {}

    static void step(String name) {}

    static void onOrder() {
        step("harness.Routed.onOrder");
    }

    static void fail() {
        throw new IllegalStateException();
    }

    static void requests() throws InterruptedException {
        Servlet servlet = new Servlet();
        Mapping one = new Mapping(Collections.singleton(Verb.GET), "/orders/{id}");
        // Outside of a request, a match means nothing.
        match(one);
        step("before");
        for (int request = 0; request < 2; request++) {
            servlet.service(() -> {
                step("GET /orders/{id}");
                match(one);
                step("GET /orders/{id}");
                // A page that is included: the request is what it was.
                new Hello().service(() -> step("GET /orders/{id}"));
                match(new Mapping("/included"));
                step("GET /orders/{id}");
            });
            step("before");
        }
        servlet.service(() -> {
            match(new Mapping(Collections.emptySet(), "/b", "/a"));
            Thread other = new Thread(() -> step("/a"));
            other.start();
            try {
                other.join();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        });
        servlet.service(() -> match(new Mapping("/named")));
        servlet.service(() -> {
            match("/shop", "/{id}");
            step("/shop/{id}");
        });
        servlet.service(() -> {
            match("/shops", "/");
            step("/shops");
        });
        servlet.service(() -> {
            match("/", "/{id}");
            step("/{id}");
        });
        new Hello().service(() -> step("harness.Routed$Hello"));
        try {
            servlet.service(() -> {
                match(new Mapping(Collections.singleton(Verb.POST), "/fail"));
                step("POST /fail");
                fail();
            });
        } catch (IllegalStateException expected) {
            step("before");
        }
    }

    public static void main(String[] args) throws ReflectiveOperationException, InterruptedException {
        set("route", "before");
        requests();
        set("route", null);
        Invocable invocable = new Invocable("onOrder");
        receive(invocable::invoke);
        invocable.invoke();
        step("none");
    }
}
