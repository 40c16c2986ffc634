-- Refunds of late payments that their partner has accepted, and the refunds of such a payment if its bank takes it back.
-- Locks: checkout.refunds for a moment (a nullable column), SHARE on checkout.late_payments while its index is built, about a second for a million rows.

alter table checkout.refunds add column late_payment_id uuid; -- the accepted late payment that it sends back. Null: the payment of the session.
alter table checkout.refunds add constraint refunds_of_one_payment check (part_id is null or late_payment_id is null);
create index late_payments_by_deposit on checkout.late_payments (partner_id, deposit_id) where deposit_id is not null;
