package real;

import org.jsoup.Jsoup;
import org.jsoup.nodes.Document;

/** jsoup: parses a page with a table and selects from it. */
final class Html implements Main.Work {
    private final String page;

    Html() {
        StringBuilder text = new StringBuilder("<!doctype html><html><head><title>Orders</title></head><body>");
        for (int row = 0; row < 400; row++) {
            text.append("<div class='row r").append(row % 7).append("'><p>Order &amp; <b>").append(row);
            text.append("</b> of <a href='/customers/").append(row % 40).append("'>customer</a></p>");
            text.append("<ul><li>one<li>two</ul></div>\n");
        }
        page = text.append("</body></html>").toString();
    }

    @Override
    public long run(int round) {
        Document document = Jsoup.parse(page);
        return document.select("div.r3 > p a[href]").size() + document.text().length();
    }
}
