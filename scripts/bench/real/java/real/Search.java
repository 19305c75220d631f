package real;

import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.ByteBuffersDirectory;

/** Lucene: writes an index in memory and searches it. */
final class Search implements Main.Work {
    @Override
    public long run(int round) throws Exception {
        long found = 0;
        try (ByteBuffersDirectory directory = new ByteBuffersDirectory()) {
            try (IndexWriter writer = new IndexWriter(directory, new IndexWriterConfig(new StandardAnalyzer()))) {
                for (int number = 0; number < 600; number++) {
                    StringBuilder text = new StringBuilder();
                    for (int word = 0; word < 60; word++) {
                        text.append("word").append((number * 31 + word * word) % 500).append(' ');
                    }
                    Document document = new Document();
                    document.add(new TextField("text", text.toString(), Field.Store.YES));
                    writer.addDocument(document);
                }
            }
            try (DirectoryReader reader = DirectoryReader.open(directory)) {
                IndexSearcher searcher = new IndexSearcher(reader);
                for (int word = 0; word < 200; word++) {
                    found += searcher.search(new TermQuery(new Term("text", "word" + word)), 10).totalHits.value;
                }
            }
        }
        return found;
    }
}
