-- The largest balance of a customer in a state of its verification, for each currency.
-- Why: issue 28. An institution lets a customer hold a small sum until its identity is proved.
-- Processes of the version before may run: they credit without regard to it, so that it is set once none of them runs. A gate that they set
-- keeps it.
-- Locks: gates, exclusively, for an instant.
-- minor units by the code of the currency, as texts of integers. Null: no largest balance.
alter table customers.gates add column balances_max jsonb;
alter table customers.gates add constraint gates_balances_max_check check (jsonb_typeof(balances_max) = 'object');
