package real;

/**
 * Drives a library as a program would: {@code Main NAME ROUNDS}. What is read and written is made here and is the same in
 * every run. The sum of what each round returns is printed, so that nothing is left out as unused.
 */
public final class Main {
    private Main() {}

    /** One piece of work of a program. */
    interface Work {
        long run(int round) throws Exception;
    }

    public static void main(String[] args) throws Exception {
        Work work = work(args[0]);
        long sum = 0;
        for (int round = 0; round < Integer.parseInt(args[1]); round++) {
            sum += work.run(round);
        }
        System.out.println(sum);
        // Pools of libraries may have threads that are no daemons.
        System.exit(0);
    }

    private static Work work(String name) throws Exception {
        switch (name) {
            case "jsoup":
                return new Html();
            case "jackson":
                return new Json();
            case "csv":
                return new Csv();
            case "javaparser":
                return new Sources();
            case "groovy":
                return new Scripts.Groovy();
            case "rhino":
                return new Scripts.Rhino();
            case "kotlin":
                return new Kotlin();
            case "h2":
                return new Sql();
            case "lucene":
                return new Search();
            case "spring":
                return new Spring();
            default:
                throw new IllegalArgumentException(name);
        }
    }
}
