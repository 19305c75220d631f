package harness;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;

/**
 * Classes by what they extend, and methods by their annotations. {@code main} calls each method once, in the order of the classes
 * below; a call of {@code plain} is of no interest to any filter of the test.
 */
public final class Related {
    @Retention(RetentionPolicy.RUNTIME)
    @interface Seen {}

    /** Not visible at run time. */
    @interface Kept {}

    interface Api {
        default void offered() {}
    }

    static class Base {
        void base() {}
    }

    static class Child extends Base {
        void child() {}
    }

    /** The interface is only that of the class two levels below. */
    static class Grandchild extends Child implements Api {
        void grandchild() {}
    }

    static class Last extends Grandchild {
        void last() {}
    }

    @Seen
    static class Annotated {
        void first() {}

        void second() {}

        static class Nested {
            void plain() {}
        }
    }

    static class Single extends Annotated {
        @Kept
        void kept() {}

        @Deprecated
        @Seen
        void seen() {}

        void plain() {}
    }

    public static void main(String[] args) {
        new Base().base();
        new Child().child();
        new Grandchild().grandchild();
        new Last().last();
        new Last().offered();
        new Annotated().first();
        new Annotated().second();
        new Annotated.Nested().plain();
        new Single().kept();
        new Single().seen();
        new Single().plain();
        Api lambda = new Api() {};
        lambda.offered();
        System.out.println("done");
    }
}
