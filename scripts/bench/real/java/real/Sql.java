package real;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.Statement;

/** H2: inserts, updates and joins in memory. */
final class Sql implements Main.Work {
    private final Connection connection = DriverManager.getConnection("jdbc:h2:mem:shop");

    Sql() throws Exception {
        try (Statement statement = connection.createStatement()) {
            statement.execute("create table customer(id int primary key, name varchar(40))");
            statement.execute("create table purchase(id identity primary key, customer int, total decimal(10, 2))");
            statement.execute("create index by_customer on purchase(customer)");
            for (int id = 0; id < 50; id++) {
                statement.execute("insert into customer values(" + id + ", 'customer " + id + "')");
            }
        }
    }

    @Override
    public long run(int round) throws Exception {
        try (PreparedStatement insert =
                connection.prepareStatement("insert into purchase(customer, total) values(?, ?)")) {
            for (int number = 0; number < 200; number++) {
                insert.setInt(1, number % 50);
                insert.setInt(2, number);
                insert.executeUpdate();
            }
        }
        String query = "select c.name, count(*), sum(p.total) from customer c join purchase p on p.customer = c.id"
                + " where p.id > ? group by c.name order by 3 desc";
        long sum = 0;
        try (PreparedStatement select = connection.prepareStatement(query)) {
            select.setLong(1, round * 200L);
            try (ResultSet rows = select.executeQuery()) {
                while (rows.next()) {
                    sum += rows.getLong(2);
                }
            }
        }
        return sum;
    }
}
