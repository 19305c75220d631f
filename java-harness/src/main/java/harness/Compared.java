package harness;

/**
 * Calls of {@code request} that differ in known ways.
 *
 * <p>Tree: {@code main > request > Order.<init>, count > isBlank (3 times), Order.add, check}, three times.
 * The second call finds one blank less, and another exception leaves {@code check}; the third also calls {@code extra}
 * before {@code check}.
 */
public final class Compared {
    private static boolean knowsFormFeed = true;

    private Compared() {}

    public static void main(String[] args) {
        request(1);
        knowsFormFeed = false;
        request(1);
        request(3);
        System.out.println("done");
    }

    private static int request(int id) {
        Order order = new Order(id);
        order.add(count("a \f"));
        if (id == 3) {
            extra();
        }
        try {
            check(order);
        } catch (RuntimeException expected) {
            return 0;
        }
        return 1;
    }

    private static int count(String text) {
        int blanks = 0;
        for (int c : text.toCharArray()) {
            if (isBlank(c)) {
                blanks++;
            }
        }
        return blanks;
    }

    private static boolean isBlank(int c) {
        return c == ' ' || c == '\f' && knowsFormFeed;
    }

    private static void extra() {}

    private static void check(Order order) {
        if (knowsFormFeed) {
            throw new IllegalStateException("blanks");
        }
        throw new IllegalArgumentException("no form feed");
    }

    private static final class Order {
        private final int id;
        private int total;

        Order(int id) {
            this.id = id;
        }

        void add(int blanks) {
            total = total + blanks;
        }
    }
}
