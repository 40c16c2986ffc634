-- Index of the cases about a payment.
-- Why: the desk shows the cases of a payment, open or decided, and no page may read all cases of a partner.
-- Processes of the version before may run: they do not read by it.
-- Locks: writes to cases wait while the index is built, of one row for each case.
create index cases_by_subject on cases.cases (partner_id, subject, opened_at desc, id desc);
