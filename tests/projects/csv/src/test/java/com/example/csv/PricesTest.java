package com.example.csv;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.io.StringReader;
import java.util.List;
import org.apache.commons.csv.CSVFormat;
import org.apache.commons.csv.CSVParser;
import org.apache.commons.csv.CSVPrinter;
import org.apache.commons.csv.CSVRecord;
import org.junit.jupiter.api.Test;

/** Reads and writes prices. One test fails: the format does not trim, so that a price begins with a blank. */
class PricesTest {
    private static final CSVFormat FORMAT = CSVFormat.DEFAULT.builder().setHeader("item", "price").build();

    private static List<CSVRecord> read(String text) throws IOException {
        try (CSVParser parser = CSVParser.parse(new StringReader(text), FORMAT)) {
            return parser.getRecords();
        }
    }

    private static int price(CSVRecord record) {
        return Integer.parseInt(record.get("price"));
    }

    @Test
    void threeRecordsAreRead() throws IOException {
        List<CSVRecord> records = read("tea,3\ncoffee,4\n\"milk, warm\",2\n");
        assertEquals(3, records.size());
        assertEquals("milk, warm", records.get(2).get("item"));
    }

    @Test
    void pricesAreAddedUp() throws IOException {
        int sum = 0;
        for (CSVRecord record : read("tea,3\ncoffee, 4\n")) sum += price(record);
        assertEquals(7, sum);
    }

    @Test
    void aCommaIsQuoted() throws IOException {
        StringBuilder out = new StringBuilder();
        try (CSVPrinter printer = new CSVPrinter(out, CSVFormat.DEFAULT)) {
            printer.printRecord("milk, warm", 2);
        }
        assertEquals("\"milk, warm\",2\r\n", out.toString());
    }
}
