package harness;

import java.io.InputStream;
import java.io.Reader;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.math.BigDecimal;
import java.net.URL;
import java.sql.Array;
import java.sql.Blob;
import java.sql.Clob;
import java.sql.Connection;
import java.sql.Date;
import java.sql.NClob;
import java.sql.ParameterMetaData;
import java.sql.PreparedStatement;
import java.sql.Ref;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.RowId;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.SQLXML;
import java.sql.Statement;
import java.sql.Time;
import java.sql.Timestamp;
import java.util.Calendar;

/** A driver of {@code java.sql} that does nothing, and its pool. */
final class Driver {
    static int executed = 0;

    private Driver() {}

    /** A connection of the pool: it wraps that of the driver, and its statements wrap those of the driver. */
    static Connection connect() {
        Connection inner = proxy(DriverConnection.class, (proxy, method, args) -> {
            switch (method.getName()) {
                case "prepareStatement":
                    return new Prepared((String) args[0]);
                case "createStatement":
                    return new Plain();
                default:
                    return null;
            }
        });
        return proxy(Connection.class, (proxy, method, args) -> {
            Object result = invoke(inner, method, args);
            boolean isPrepared = result instanceof PreparedStatement;
            return isPrepared
                    ? proxy(PreparedStatement.class, (wrapper, called, values) -> invoke(result, called, values))
                    : result;
        });
    }

    private static Object invoke(Object target, Method method, Object[] args) throws Throwable {
        try {
            return method.invoke(target, args);
        } catch (InvocationTargetException wrapped) {
            throw wrapped.getCause();
        }
    }

    private static <T> T proxy(Class<T> type, InvocationHandler handler) {
        return type.cast(Proxy.newProxyInstance(Driver.class.getClassLoader(), new Class<?>[] {type}, handler));
    }
}

/** An interface of the driver. */
interface DriverConnection extends Connection {}

/** An interface of the driver. */
interface DriverPrepared extends PreparedStatement {}

/** Implements its interface directly. */
class Plain implements Statement {
    private int closed;

    static UnsupportedOperationException unused() {
        return new UnsupportedOperationException();
    }

    @Override
    public boolean execute(String sql) {
        Driver.executed++;
        return false;
    }

    @Override
    public void close() {
        closed++;
    }

    @Override
    public <T> T unwrap(Class<T> a) {
        throw unused();
    }

    @Override
    public boolean isWrapperFor(Class<?> a) {
        throw unused();
    }

    @Override
    public Connection getConnection() {
        throw unused();
    }

    @Override
    public ResultSet executeQuery(String a) {
        throw unused();
    }

    @Override
    public ResultSet getGeneratedKeys() {
        throw unused();
    }

    @Override
    public ResultSet getResultSet() {
        throw unused();
    }

    @Override
    public SQLWarning getWarnings() {
        throw unused();
    }

    @Override
    public boolean execute(String a, String[] b) {
        throw unused();
    }

    @Override
    public boolean execute(String a, int b) {
        throw unused();
    }

    @Override
    public boolean execute(String a, int[] b) {
        throw unused();
    }

    @Override
    public boolean getMoreResults() {
        throw unused();
    }

    @Override
    public boolean getMoreResults(int a) {
        throw unused();
    }

    @Override
    public boolean isCloseOnCompletion() {
        throw unused();
    }

    @Override
    public boolean isClosed() {
        throw unused();
    }

    @Override
    public boolean isPoolable() {
        throw unused();
    }

    @Override
    public int executeUpdate(String a) {
        throw unused();
    }

    @Override
    public int executeUpdate(String a, String[] b) {
        throw unused();
    }

    @Override
    public int executeUpdate(String a, int b) {
        throw unused();
    }

    @Override
    public int executeUpdate(String a, int[] b) {
        throw unused();
    }

    @Override
    public int getFetchDirection() {
        throw unused();
    }

    @Override
    public int getFetchSize() {
        throw unused();
    }

    @Override
    public int getMaxFieldSize() {
        throw unused();
    }

    @Override
    public int getMaxRows() {
        throw unused();
    }

    @Override
    public int getQueryTimeout() {
        throw unused();
    }

    @Override
    public int getResultSetConcurrency() {
        throw unused();
    }

    @Override
    public int getResultSetHoldability() {
        throw unused();
    }

    @Override
    public int getResultSetType() {
        throw unused();
    }

    @Override
    public int getUpdateCount() {
        throw unused();
    }

    @Override
    public int[] executeBatch() {
        throw unused();
    }

    @Override
    public void addBatch(String a) {
        throw unused();
    }

    @Override
    public void cancel() {
        throw unused();
    }

    @Override
    public void clearBatch() {
        throw unused();
    }

    @Override
    public void clearWarnings() {
        throw unused();
    }

    @Override
    public void closeOnCompletion() {
        throw unused();
    }

    @Override
    public void setCursorName(String a) {
        throw unused();
    }

    @Override
    public void setEscapeProcessing(boolean a) {
        throw unused();
    }

    @Override
    public void setFetchDirection(int a) {
        throw unused();
    }

    @Override
    public void setFetchSize(int a) {
        throw unused();
    }

    @Override
    public void setMaxFieldSize(int a) {
        throw unused();
    }

    @Override
    public void setMaxRows(int a) {
        throw unused();
    }

    @Override
    public void setPoolable(boolean a) {
        throw unused();
    }

    @Override
    public void setQueryTimeout(int a) {
        throw unused();
    }
}

/** Implements its interface by one of the driver, and extends another statement. */
final class Prepared extends Plain implements DriverPrepared {
    private final String sql;
    /** HotSpot does not call empty methods by reflection, so engine=events would not see them. */
    private int parameters;

    Prepared(String sql) {
        this.sql = sql;
    }

    @Override
    public ResultSet executeQuery() {
        // As drivers do: it is one statement.
        execute(sql);
        return null;
    }

    @Override
    public int executeUpdate() throws SQLException {
        if (sql.contains("nothing")) {
            throw new SQLException("no table 'nothing'");
        }
        return execute(sql) ? 1 : 0;
    }

    @Override
    public void setInt(int a, int b) {
        parameters++;
    }

    @Override
    public void setNull(int a, int b) {
        parameters++;
    }

    @Override
    public void setString(int a, String b) {
        parameters++;
    }

    @Override
    public ParameterMetaData getParameterMetaData() {
        throw unused();
    }

    @Override
    public ResultSetMetaData getMetaData() {
        throw unused();
    }

    @Override
    public boolean execute() {
        throw unused();
    }

    @Override
    public void addBatch() {
        throw unused();
    }

    @Override
    public void clearParameters() {
        throw unused();
    }

    @Override
    public void setArray(int a, Array b) {
        throw unused();
    }

    @Override
    public void setAsciiStream(int a, InputStream b) {
        throw unused();
    }

    @Override
    public void setAsciiStream(int a, InputStream b, int c) {
        throw unused();
    }

    @Override
    public void setAsciiStream(int a, InputStream b, long c) {
        throw unused();
    }

    @Override
    public void setBigDecimal(int a, BigDecimal b) {
        throw unused();
    }

    @Override
    public void setBinaryStream(int a, InputStream b) {
        throw unused();
    }

    @Override
    public void setBinaryStream(int a, InputStream b, int c) {
        throw unused();
    }

    @Override
    public void setBinaryStream(int a, InputStream b, long c) {
        throw unused();
    }

    @Override
    public void setBlob(int a, Blob b) {
        throw unused();
    }

    @Override
    public void setBlob(int a, InputStream b) {
        throw unused();
    }

    @Override
    public void setBlob(int a, InputStream b, long c) {
        throw unused();
    }

    @Override
    public void setBoolean(int a, boolean b) {
        throw unused();
    }

    @Override
    public void setByte(int a, byte b) {
        throw unused();
    }

    @Override
    public void setBytes(int a, byte[] b) {
        throw unused();
    }

    @Override
    public void setCharacterStream(int a, Reader b) {
        throw unused();
    }

    @Override
    public void setCharacterStream(int a, Reader b, int c) {
        throw unused();
    }

    @Override
    public void setCharacterStream(int a, Reader b, long c) {
        throw unused();
    }

    @Override
    public void setClob(int a, Clob b) {
        throw unused();
    }

    @Override
    public void setClob(int a, Reader b) {
        throw unused();
    }

    @Override
    public void setClob(int a, Reader b, long c) {
        throw unused();
    }

    @Override
    public void setDate(int a, Date b) {
        throw unused();
    }

    @Override
    public void setDate(int a, Date b, Calendar c) {
        throw unused();
    }

    @Override
    public void setDouble(int a, double b) {
        throw unused();
    }

    @Override
    public void setFloat(int a, float b) {
        throw unused();
    }

    @Override
    public void setLong(int a, long b) {
        throw unused();
    }

    @Override
    public void setNCharacterStream(int a, Reader b) {
        throw unused();
    }

    @Override
    public void setNCharacterStream(int a, Reader b, long c) {
        throw unused();
    }

    @Override
    public void setNClob(int a, NClob b) {
        throw unused();
    }

    @Override
    public void setNClob(int a, Reader b) {
        throw unused();
    }

    @Override
    public void setNClob(int a, Reader b, long c) {
        throw unused();
    }

    @Override
    public void setNString(int a, String b) {
        throw unused();
    }

    @Override
    public void setNull(int a, int b, String c) {
        throw unused();
    }

    @Override
    public void setObject(int a, Object b) {
        throw unused();
    }

    @Override
    public void setObject(int a, Object b, int c) {
        throw unused();
    }

    @Override
    public void setObject(int a, Object b, int c, int d) {
        throw unused();
    }

    @Override
    public void setRef(int a, Ref b) {
        throw unused();
    }

    @Override
    public void setRowId(int a, RowId b) {
        throw unused();
    }

    @Override
    public void setSQLXML(int a, SQLXML b) {
        throw unused();
    }

    @Override
    public void setShort(int a, short b) {
        throw unused();
    }

    @Override
    public void setTime(int a, Time b) {
        throw unused();
    }

    @Override
    public void setTime(int a, Time b, Calendar c) {
        throw unused();
    }

    @Override
    public void setTimestamp(int a, Timestamp b) {
        throw unused();
    }

    @Override
    public void setTimestamp(int a, Timestamp b, Calendar c) {
        throw unused();
    }

    @Override
    public void setURL(int a, URL b) {
        throw unused();
    }

    @Override
    @Deprecated
    public void setUnicodeStream(int a, InputStream b, int c) {
        throw unused();
    }
}
