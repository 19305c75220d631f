package real;

import java.io.StringReader;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVParser;
import org.apache.commons.csv.CSVPrinter;
import org.apache.commons.csv.CSVRecord;

/** commons-csv: reads a table and writes some of it. */
final class Csv implements Main.Work {
    private final String table;

    Csv() {
        StringBuilder text = new StringBuilder("id,name,note,total\n");
        for (int row = 0; row < 2_000; row++) {
            text.append(row).append(",\"name, ").append(row % 31).append("\",a note of some length,");
            text.append(row * 3).append('\n');
        }
        table = text.toString();
    }

    @Override
    public long run(int round) throws Exception {
        CSVFormat format = CSVFormat.DEFAULT.builder().setHeader().setSkipHeaderRecord(true).build();
        StringBuilder out = new StringBuilder();
        try (CSVParser parser = CSVParser.parse(new StringReader(table), format);
                CSVPrinter printer = new CSVPrinter(out, CSVFormat.DEFAULT)) {
            for (CSVRecord record : parser) {
                printer.printRecord(record.get("name"), record.get("total"));
            }
        }
        return out.length();
    }
}
