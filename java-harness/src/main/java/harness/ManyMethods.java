package harness;

/**
 * More methods than fit into one or two bytes of an id.
 *
 * <p>Arguments: the number of classes (9000, at most 9999). Tree: for each number {@code N} a {@code loadAndCall},
 * under which are, besides the methods of {@link Templates}, {@code TemplateN.<init>} and twice {@code TemplateN.run >
 * mN}. 9000 classes have 27,000 methods: one byte suffices for 64 ids, two bytes for 8192.
 */
public final class ManyMethods {
    private ManyMethods() {}

    public static void main(String[] args) throws Exception {
        int count = args.length > 0 ? Integer.parseInt(args[0]) : 9000;
        byte[] template = Templates.read("Template0000");
        Templates.Loader loader = new Templates.Loader();
        for (int number = 0; number < count; number++) {
            loadAndCall(loader, Templates.numbered(template, number));
        }
        System.out.println("called " + count);
    }

    private static void loadAndCall(Templates.Loader loader, byte[] classFile) throws Exception {
        Runnable object = (Runnable) loader.instantiate(classFile);
        object.run();
        object.run();
    }
}
