insert into customer select x, 'Customer ' || x, case when x = 7 then null else 'north' end from system_range(1, 12);
insert into purchase select x, 1 + mod(x, 12), 10 * x, case when x = 5 then '10%' else '10' end from system_range(1, 36);
