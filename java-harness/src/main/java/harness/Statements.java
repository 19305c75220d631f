package harness;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * Statements of a driver whose classes implement the interfaces of {@code java.sql} in each way that drivers do: directly, by an
 * interface of their own, by a superclass, and wrapped by those of a pool.
 */
public final class Statements {
    private static final String OF_CUSTOMER = "select id, total from purchase_order where customer_id=?";

    private Statements() {}

    public static void main(String[] args) throws Exception {
        Connection connection = Driver.connect();
        insert(connection);
        for (int customer = 1; customer <= 3; customer++) {
            orders(connection, customer);
        }
        fail(connection);
        PreparedStatement prepared = connection.prepareStatement("delete from stock");
        Thread other = new Thread(() -> delete(prepared), "other");
        other.start();
        other.join();
        System.out.println(Driver.executed);
    }

    private static void insert(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("insert into stock values (1, 'O''Neil')");
            statement.execute("insert into stock values (2, 'x')");
        }
    }

    private static void orders(Connection connection, int customer) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(OF_CUSTOMER)) {
            statement.setInt(1, customer);
            statement.executeQuery();
        }
    }

    private static void fail(Connection connection) {
        try (PreparedStatement statement = connection.prepareStatement("update nothing set a=?, b=?")) {
            statement.setString(2, "secret");
            statement.setNull(1, 4);
            statement.executeUpdate();
        } catch (SQLException expected) {
            System.out.println(expected.getMessage());
        }
    }

    private static void delete(PreparedStatement prepared) {
        try {
            prepared.executeUpdate();
        } catch (SQLException unexpected) {
            throw new IllegalStateException(unexpected);
        }
    }
}
