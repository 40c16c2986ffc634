-- The largest sum over all currencies that a customer holds in a state of its verification, in a reference currency.
-- Why: a largest balance of each currency adds up to as many as there are currencies (issue 41).
-- Processes of the version before may run: they credit without regard to it, so that it is set once none of them runs. A gate that they set
-- keeps it.
-- Locks: gates, exclusively, for an instant.
-- minor units by the code of the currency, as the text of an integer; one currency. Null: no largest sum.
alter table customers.gates add column total_max jsonb;
alter table customers.gates add constraint gates_total_max_check check (jsonb_typeof(total_max) = 'object');
