package harness;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Uses the JDK's collections, which are recorded too.
 *
 * <p>Tree, of this class alone: {@code main > fill, count, sorted > compare…}, the last as often as the JDK's sort
 * compares.
 */
public final class Collections {
    private Collections() {}

    public static void main(String[] args) {
        List<String> words = fill();
        Map<String, Integer> counts = count(words);
        System.out.println(sorted(words) + " " + counts.get("c"));
    }

    private static List<String> fill() {
        List<String> words = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            words.add(0, String.valueOf((char) ('a' + i * 7 % 5)));
        }
        words.remove("a");
        return words;
    }

    private static Map<String, Integer> count(List<String> words) {
        Map<String, Integer> counts = new HashMap<>(2);
        for (String word : words) {
            Integer known = counts.get(word);
            counts.put(word, known == null ? 1 : known + 1);
        }
        return counts;
    }

    private static String sorted(List<String> words) {
        List<String> sorted = new ArrayList<>(words);
        sorted.sort(new Order());
        return sorted.get(0);
    }

    private static final class Order implements Comparator<String> {
        @Override
        public int compare(String left, String right) {
            return left.compareTo(right);
        }
    }
}
