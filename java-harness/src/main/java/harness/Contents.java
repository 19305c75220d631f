package harness;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Date;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.Vector;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;

/** Passes objects whose content a recording has. All but {@link #show} would fail if a recording ran code of the program. */
public final class Contents {
    private Contents() {}

    /** A class whose methods must not run. */
    static class Item {
        final int id;
        final BigDecimal price;
        private final String password = "hunter2";
        static final int COUNT = 3;

        Item(int id, String price) {
            this.id = id;
            this.price = new BigDecimal(price);
        }

        @Override
        public String toString() {
            throw new AssertionError("toString");
        }

        @Override
        public int hashCode() {
            return id;
        }

        @Override
        public boolean equals(Object other) {
            return this == other;
        }
    }

    /** With fields of its own and of its superclass. */
    static final class Order extends Item {
        final List<Item> items = new ArrayList<>();
        Order next;
        double rate = 0.5;
        char mark = 'x';
        Colour colour = Colour.RED;
        int[] numbers = {1, 2, 3};

        Order(int id) {
            super(id, "10.00");
        }
    }

    /** One constant has a class of its own. */
    enum Colour {
        RED,
        GREEN {
            @Override
            int shade() {
                return 1;
            }
        };

        int shade() {
            return 0;
        }
    }

    /** A list with a field. */
    static final class Names extends ArrayList<String> {
        private static final long serialVersionUID = 1;
        int extra = 5;

        @Override
        public int size() {
            return new Throwable().getStackTrace().length > 100 ? 0 : super.size();
        }
    }

    static Object show(Object value) {
        return null;
    }

    static void many(List<Integer> numbers, Map<String, List<Integer>> deep) {}

    public static void main(String[] args) {
        show(new BigDecimal("1.19"));
        show(new BigDecimal("-123456789012345678901234567890.5"));
        show(new BigDecimal("1E+5"));
        show(new BigInteger("-98765432109876543210"));
        show(BigInteger.ZERO);
        show(UUID.fromString("123e4567-e89b-12d3-a456-426614174000"));
        show(LocalDate.of(2024, 2, 29));
        show(LocalTime.of(1, 2, 3, 4_000_000));
        show(LocalDateTime.of(2024, 1, 2, 3, 4));
        show(Instant.ofEpochSecond(1_700_000_000L, 5));
        show(Duration.ofMillis(-1500));
        show(OffsetDateTime.of(2024, 1, 2, 3, 4, 5, 0, ZoneOffset.ofHours(2)));
        show(ZonedDateTime.of(2024, 7, 2, 3, 4, 5, 0, ZoneId.of("Europe/Berlin")));
        show(ZonedDateTime.of(2024, 7, 2, 3, 4, 5, 0, ZoneOffset.UTC));
        show(ZoneId.of("Asia/Tokyo"));
        show(new Date(1_700_000_000_123L));
        show(new StringBuilder("ab\"c").append('d'));
        show(new StringBuffer("\u20ac!"));
        show(new AtomicInteger(5));
        show(new AtomicLong(-6));
        show(new AtomicBoolean(true));
        show(new AtomicReference<>("x"));
        show(Optional.of("a"));
        show(Optional.empty());
        show(OptionalInt.of(3));
        show(OptionalLong.of(4));
        show(OptionalDouble.empty());
        show(new ArrayList<>(List.of(1, 2, 3)));
        show(Arrays.asList("a", null, 'b'));
        show(List.of());
        show(List.of(1));
        show(List.of(1, 2L));
        show(List.of(1, 2, 3));
        show(Set.of(1));
        show(Set.of("p", "q").size() == 2 ? Set.of() : null);
        show(Map.of());
        show(Map.of("k", 1));
        show(new LinkedList<>(List.of(9, 8)));
        show(new ArrayDeque<>(List.of(4, 5, 6)));
        show(new HashMap<>(Map.of(1, "a", 2, "b")));
        show(new LinkedHashMap<>(Map.of("x", 1)));
        show(new TreeMap<>(Map.of(3, "c", 1, "a", 2, "b")));
        show(new HashSet<>(List.of(1, 2)));
        show(new LinkedHashSet<>(List.of(5, 4, 3)));
        show(new TreeSet<>(List.of(9, 1, 5)));
        show(new ConcurrentHashMap<>(Map.of("c", 1)));
        show(new CopyOnWriteArrayList<>(List.of(1, 2)));
        show(new Vector<>(List.of(7)));
        show(Collections.unmodifiableList(new ArrayList<>(List.of(1, 2))));
        show(Collections.unmodifiableMap(new TreeMap<>(Map.of(1, 2))));
        show(Collections.synchronizedList(new ArrayList<>(List.of(3))));
        show(Collections.singletonList("s"));
        show(Collections.singleton(null));
        show(Collections.singletonMap("k", null));
        show(Collections.emptyList());
        show(Collections.emptyMap());
        Order order = new Order(7);
        order.items.add(new Item(1, "0.05"));
        order.next = new Order(8);
        show(order);
        show(new Object[] {1, "two", null, List.of(3)});
        show(new Item[] {new Item(2, "1"), null});
        show(new int[][] {{1}, {2, 3}});
        show(Colour.RED);
        show(Colour.GREEN);
        Names names = new Names();
        names.add("n");
        show(names);
        show((Runnable) () -> {});
        show(new Object());
        show(new TreeMap<>(Map.of("password", "hunter2", "user", "me")));
        AtomicReference<Object> itself = new AtomicReference<>();
        itself.set(itself);
        show(itself);
        List<Integer> wrapped = new ArrayList<>();
        for (int number = 0; number < 50_000; number++) {
            wrapped = Collections.synchronizedList(wrapped);
        }
        show(wrapped);
        List<Integer> numbers = new ArrayList<>();
        for (int number = 0; number < 5000; number++) {
            numbers.add(number);
        }
        many(numbers, new TreeMap<>(Map.of("a", List.of(1, 2), "b", List.of(3))));
    }
}
