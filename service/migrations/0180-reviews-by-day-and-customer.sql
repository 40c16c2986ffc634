-- The overdue reviews in the order of their pages: by day, then by customer.
-- Why: many reviews can be due on one day; a page of the desk reads its own rows of it, not all of them (issue 27).
-- Processes of the version before may run: their list of the overdue is served by the new index too.
-- Locks: writes to customers.reviews, which the operator's staff make, wait while the index is built.
create index reviews_by_due_and_customer on customers.reviews (due_on, customer_id);
drop index customers.reviews_by_due;
