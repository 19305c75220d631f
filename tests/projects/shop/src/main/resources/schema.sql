create table customer (id int primary key, name varchar(40), region varchar(20));
create table purchase (id int primary key, customer int, amount decimal(10, 2), discount varchar(10));
