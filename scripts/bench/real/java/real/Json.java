package real;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Jackson: writes a list of objects and reads it again. */
final class Json implements Main.Work {
    /** What is written. */
    public static final class Order {
        public long id;
        public String customer;
        public double total;
        public List<String> lines = new ArrayList<>();
        public Map<String, Integer> counts = new TreeMap<>();
    }

    private final ObjectMapper mapper = new ObjectMapper();
    private final List<Order> orders = new ArrayList<>();

    Json() {
        for (int number = 0; number < 200; number++) {
            Order order = new Order();
            order.id = number;
            order.customer = "customer " + number % 17;
            order.total = number * 1.25;
            for (int line = 0; line < 6; line++) {
                order.lines.add("article " + line);
                order.counts.put("k" + line, line * number);
            }
            orders.add(order);
        }
    }

    @Override
    public long run(int round) throws Exception {
        String text = mapper.writeValueAsString(orders);
        Order[] read = mapper.readValue(text, Order[].class);
        return text.length() + read[round % read.length].id;
    }
}
