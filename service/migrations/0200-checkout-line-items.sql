-- What a payer pays for: a description, and line items whose amounts add up to that of the session. Null: the session has none, or its
-- customer was erased. The version before writes and reads neither.
-- Locks: exclusive, for an instant, on checkout.sessions. Its rows are not read or written.
alter table checkout.sessions add column description text;
alter table checkout.sessions add column line_items jsonb;
