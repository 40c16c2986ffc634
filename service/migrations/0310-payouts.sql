-- Payouts, their controls (limits, fees, approvals, cooling-off), bulks, standing orders and recalls. A payout is accepted once for each key; workers
-- claim it by a lease and hand it to the bank.
-- Locks: none, everything is new.

create schema payouts;

create table payouts.payouts (
  partner_id uuid not null, id uuid not null,
  operation text not null, -- the scope of the idempotency key.
  idempotency_key text,
  request_hash text not null,
  transaction_id uuid not null, reference text not null,
  reserve_id uuid not null,
  beneficiary_id uuid, customer_id uuid,
  amount bigint not null check (amount > 0), currency text not null,
  creditor_name text not null, creditor_account text not null, creditor_bic text,
  creditor_country text not null,
  remittance text, -- what the beneficiary reads on the statement.
  rail text not null,
  end_to_end_id text not null, -- that of the instruction, derived from partner, operation and idempotency key.
  ip_address text not null,
  simulated_outcome text, -- for the sandbox bank; null: real traffic.
  status text not null check (status in ('Pending', 'PendingApproval', 'Processing', 'Sent', 'Completed', 'Failed', 'Returned', 'Cancelled')),
  error_key text, error_details text,
  send_attempts integer not null default 0, -- above 0 the bank is asked first whether it has the instruction.
  due_at timestamptz, -- when a worker looks at it; null: never. A claim moves it to the end of the lease.
  lease_id uuid,
  created_at timestamptz not null, updated_at timestamptz not null,
  connector text not null default 'sandbox', -- carries it: a connector that hangs does not hold up the payouts of others.
  sold_amount bigint, sold_currency text, -- what it was exchanged from, by which quote.
  quote_id uuid,
  transaction_hash text,
  counted_in text, -- JSON: counters with the amount, as `customer.day`. Null: none. A payout that ends without a settlement gives it back.
  fee_amount bigint constraint payouts_fee check (fee_amount > 0), -- in the currency of the payout; null: none.
  approval_expires_at timestamptz, -- null: it needed no approval.
  screening_since timestamptz, -- waits for a decision about a name on a list.
  settled_by text, ended_by text, -- the bank notification that settled it, and the one that ended it otherwise.
  partner_end_to_end_id text, -- of the transaction, as the partner gave it.
  payee_check text check (payee_check in ('match', 'close_match', 'no_match', 'unchecked')),
  creditor_account_type text, -- when the payout was accepted.
  creditor_address text,
  reference_amount text, -- JSON: the amount, rate and day of the rate by which rules over all currencies judged it. Null: none did.
  primary key (partner_id, id),
  constraint payouts_key unique (partner_id, operation, idempotency_key),
  constraint payouts_partner_end_to_end check (partner_end_to_end_id ~ '^[A-Za-z0-9/?:().,''+ -]{1,35}$')
);
select public.shard('payouts.payouts');
create index payouts_by_beneficiary on payouts.payouts (partner_id, beneficiary_id, id);
create index payouts_by_status on payouts.payouts (partner_id, status, id);
create index payouts_by_customer on payouts.payouts (partner_id, customer_id, id) where customer_id is not null;
create index payouts_by_currency on payouts.payouts (partner_id, currency, id);
create index payouts_by_time on payouts.payouts (partner_id, created_at, id);
create index payouts_instruction on payouts.payouts (partner_id, end_to_end_id);
create index payouts_due_by_connector on payouts.payouts (connector, partner_id, due_at) where due_at is not null;
-- Its condition has columns of other indexes only, so that a step of a payout writes no further entry.
create index payouts_in_screening on payouts.payouts (screening_since) where screening_since is not null and due_at is not null;
-- A payout by the end-to-end id of its transaction, and its reference.
create index payouts_by_partner_end_to_end on payouts.payouts (partner_id, partner_end_to_end_id, reference) where partner_end_to_end_id is not null;
create index payouts_by_remittance on payouts.payouts (partner_id, remittance, id) where remittance <> reference;

-- What a partner, a customer or a beneficiary may be paid at once, in a day, in a month.
create table payouts.limits (
  partner_id uuid not null references access.partners (id), id uuid not null,
  scope text not null check (scope in ('partner', 'customer', 'beneficiary')),
  scope_id uuid not null, -- of the customer or beneficiary; the nil UUID: of each one, or of the partner.
  currency text not null,
  period text not null check (period in ('payment', 'day', 'month')),
  amount bigint not null check (amount > 0),
  created_at timestamptz not null, updated_at timestamptz not null,
  verification_state text not null default 'Any', -- of the customer. `Any`: every state.
  all_currencies boolean not null default false, -- counts over all currencies, in this one.
  primary key (partner_id, id),
  constraint limits_key unique (partner_id, currency, scope, scope_id, period, verification_state, all_currencies),
  constraint limits_state_check check (verification_state = 'Any' or (verification_state in ('Complete', 'Incomplete', 'Invalid')
    and scope = 'customer' and scope_id = '00000000-0000-0000-0000-000000000000'))
);
select public.shard('payouts.limits');

-- What has been counted. A scope that begins with `all.` has the sums of all currencies; `approver`: what a person has approved.
create table payouts.limit_counters (
  partner_id uuid not null references access.partners (id),
  currency text not null,
  scope text not null check (scope in ('partner', 'customer', 'beneficiary', 'unapproved', 'approver', 'all.partner', 'all.customer',
    'all.beneficiary', 'all.unapproved', 'all.approver')),
  -- the nil UUID: of the partner. Of an approver: its id, or derived from its name, because a rotated credential has a new id.
  scope_id uuid not null,
  period text not null check (period in ('day', 'month')),
  starts_on date not null, -- first day of the period, UTC.
  used bigint not null check (used >= 0),
  most bigint, -- the limit of the last addition: one statement adds and finds that a sum is beyond it.
  primary key (partner_id, currency, scope, scope_id, period, starts_on)
) with (fillfactor = 70);
select public.shard('payouts.limit_counters');

-- What a payout costs. The fee is reserved in the entry of the payout, and posted or released with it.
create table payouts.fee_rules (
  partner_id uuid not null references access.partners (id), id uuid not null,
  currency text not null,
  rail text not null check (rail in ('any', 'Sepa', 'Swift', 'Wallet')),
  fixed_amount bigint not null check (fixed_amount >= 0), basis_points integer not null check (basis_points between 0 and 10000),
  min_amount bigint not null check (min_amount >= 0),
  max_amount bigint, -- null: none.
  valid_from timestamptz not null, created_at timestamptz not null,
  primary key (partner_id, id),
  constraint fee_rules_key unique (partner_id, currency, rail, valid_from),
  constraint fee_rules_bounds check (max_amount >= min_amount)
);
select public.shard('payouts.fee_rules');

-- Payouts that wait for a second person.
create table payouts.approval_rules (
  partner_id uuid not null references access.partners (id), id uuid not null,
  currency text not null,
  above_amount bigint check (above_amount >= 0), -- a payout of more waits; null: no amount does.
  beneficiary_hours integer check (beneficiary_hours between 1 and 8760), -- a payout to a younger beneficiary waits; null: no age matters.
  expires_hours integer not null check (expires_hours between 1 and 720), -- then the payout is cancelled.
  created_at timestamptz not null, updated_at timestamptz not null,
  needs_passkey boolean not null default false, -- the approval is signed: it is linked to amount and payee (Regulation (EU) 2018/389, Art. 5).
  above_day_amount bigint check (above_day_amount >= 0), -- what leaves without a second person on a day; the rest waits.
  per_person_amount bigint check (per_person_amount > 0), -- what one person or service account may approve on a day (UTC).
  above_bulk_amount bigint check (above_bulk_amount >= 0), -- the sum of a bulk.
  payee_mismatch boolean not null default false, -- holds payouts to a payee whose name is not that of the account.
  all_currencies boolean not null default false, -- counts over all currencies, in this one.
  primary key (partner_id, id),
  constraint approval_rules_key unique (partner_id, currency, all_currencies),
  constraint approval_rules_hold_something check (above_amount is not null or above_day_amount is not null or above_bulk_amount is not null
    or beneficiary_hours is not null or per_person_amount is not null or payee_mismatch)
);
select public.shard('payouts.approval_rules');

-- Who asked for an approval, and who decided what.
create table payouts.approvals (
  partner_id uuid not null references access.partners (id),
  payout_id uuid not null,
  cause text not null check (cause in ('amount', 'day', 'bulk', 'beneficiary', 'payee')), -- why it waits.
  requested_by uuid not null, requested_name text not null,
  expires_at timestamptz not null,
  decision text check (decision in ('approved', 'rejected', 'expired', 'cancelled')),
  decided_by uuid, decided_name text, -- null: by time, or by a cancellation.
  reason text,
  decided_at timestamptz,
  needs_passkey boolean not null default false,
  payee_salt text, -- opens the digest of the payee in the signed snapshot. Null: no snapshot, or the payout was erased.
  counted_in text, -- JSON: counters of the approver with the amount, as `approver.day`. Null: none.
  bulk_id uuid, -- null: none, or a version before 0.1.0 made the payout.
  primary key (partner_id, payout_id),
  constraint approvals_decided check ((decision is null) = (decided_at is null)),
  constraint approvals_second_person check (decided_by <> requested_by)
);
select public.shard('payouts.approvals');
create index approvals_open on payouts.approvals (expires_at, partner_id, payout_id) where decision is null;
create index approvals_open_of_bulk on payouts.approvals (partner_id, bulk_id, payout_id) where decision is null and bulk_id is not null;
create index approvals_open_alone on payouts.approvals (partner_id, payout_id) where decision is null and bulk_id is null;

-- Up to a thousand payouts of one request, which workers make.
create table payouts.bulks (
  partner_id uuid not null references access.partners (id), id uuid not null,
  idempotency_key text not null, request_fingerprint text not null,
  mode text not null check (mode in ('AllOrNothing', 'BestEffort')),
  -- Refused: none of the payouts was made, because one of them could not be.
  status text not null check (status in ('Processing', 'Completed', 'Refused')),
  payouts integer not null check (payouts between 1 and 1000),
  account_id uuid not null, -- who asked for the payouts.
  account_name text not null, ip_address text not null,
  due_at timestamptz, -- a claim moves it to the end of the lease.
  lease_id uuid,
  created_at timestamptz not null, ended_at timestamptz,
  primary key (partner_id, id),
  unique (partner_id, idempotency_key),
  check ((status = 'Processing') = (due_at is not null)),
  check ((status = 'Processing') = (ended_at is null)),
  check (status = 'Processing' or lease_id is null)
);
select public.shard('payouts.bulks');
create index bulks_due on payouts.bulks (due_at, partner_id) where due_at is not null;
create index bulks_open on payouts.bulks (partner_id, due_at) where due_at is not null; -- Partners take turns.

create table payouts.bulk_items (
  partner_id uuid not null,
  bulk_id uuid not null,
  position integer not null check (position between 0 and 999), -- in the request, from 0.
  idempotency_key text not null,
  amount bigint not null check (amount > 0), currency text not null,
  beneficiary_id uuid not null,
  reference text,
  status text not null check (status in ('Processing', 'Accepted', 'Refused', 'NotMade')), -- NotMade: another payout of the bulk was refused.
  payout_id uuid, transaction_reference text, problem_code text, problem_detail text, end_to_end_id text,
  primary key (partner_id, bulk_id, position),
  foreign key (partner_id, bulk_id) references payouts.bulks (partner_id, id),
  check ((status = 'Accepted') = (payout_id is not null)),
  check ((status = 'Accepted') = (transaction_reference is not null)),
  check ((status = 'Refused') = (problem_code is not null)),
  constraint bulk_items_end_to_end check (end_to_end_id ~ '^[A-Za-z0-9/?:().,''+ -]{1,35}$')
);
select public.shard('payouts.bulk_items');

-- Payouts that a worker makes by a schedule.
create table payouts.standing_orders (
  partner_id uuid not null references access.partners (id), id uuid not null,
  beneficiary_id uuid not null,
  amount bigint not null check (amount > 0), currency text not null,
  reference text,
  frequency text not null check (frequency in ('Once', 'Daily', 'Weekly', 'Monthly', 'Yearly')),
  starts_on date not null,
  second_of_day integer not null check (second_of_day between 0 and 86399), -- time of the payouts, UTC.
  day_of_month integer check (day_of_month between 1 and 31),
  ends_on date,
  dates integer check (dates > 0),
  business_days text not null check (business_days in ('Following', 'Preceding', 'None')),
  status text not null check (status in ('Active', 'Paused', 'Ended')),
  end_reason text check (end_reason in ('Completed', 'Cancelled', 'BeneficiaryDeleted')),
  next_index integer not null check (next_index >= 0), -- the next date: its index in the schedule, and how many dates come before it.
  next_number integer not null check (next_number >= 0),
  due_at timestamptz, -- when a worker makes the next payout or repeats it.
  retry_until timestamptz, -- null: the payout of the date was not refused.
  attempts integer not null, payouts_made integer not null,
  account_id uuid not null, -- who asked for the payouts.
  account_name text not null, ip_address text not null,
  created_at timestamptz not null, updated_at timestamptz not null,
  ended_at timestamptz,
  primary key (partner_id, id),
  check ((frequency = 'Monthly') = (day_of_month is not null)),
  check (ends_on is null or (ends_on >= starts_on and dates is null)),
  check ((status = 'Active') = (due_at is not null)),
  check (status = 'Active' or retry_until is null),
  check ((status = 'Ended') = (end_reason is not null)),
  check ((status = 'Ended') = (ended_at is not null))
);
select public.shard('payouts.standing_orders');
create index standing_orders_due on payouts.standing_orders (due_at, partner_id) where due_at is not null;
create index standing_orders_active on payouts.standing_orders (partner_id) where status = 'Active';
create index standing_orders_by_beneficiary on payouts.standing_orders (partner_id, beneficiary_id);

-- What became of each date: it is paid once.
create table payouts.standing_executions (
  partner_id uuid not null, id uuid not null,
  order_id uuid not null,
  occurs_on date not null, -- the date of the schedule.
  executes_at timestamptz not null,
  status text not null check (status in ('Made', 'Retrying', 'Failed', 'Skipped')),
  attempts integer not null,
  payout_id uuid, transaction_reference text, problem_code text, problem_detail text,
  created_at timestamptz not null, updated_at timestamptz not null,
  primary key (partner_id, order_id, id),
  constraint standing_executions_date unique (partner_id, order_id, occurs_on),
  foreign key (partner_id, order_id) references payouts.standing_orders (partner_id, id),
  check ((status = 'Made') = (payout_id is not null)),
  check ((status = 'Made') = (transaction_reference is not null)),
  check (status not in ('Retrying', 'Failed') or problem_code is not null)
);
select public.shard('payouts.standing_executions');

-- How long a new or renamed beneficiary is not paid: who takes over an account adds a payee and pays it at once.
create table payouts.cooling_offs (
  partner_id uuid not null references access.partners (id), id uuid not null,
  currency text not null,
  hours integer not null check (hours between 1 and 8760),
  created_at timestamptz not null, updated_at timestamptz not null,
  primary key (partner_id, id),
  constraint cooling_offs_key unique (partner_id, currency)
);
select public.shard('payouts.cooling_offs');

-- Requests that make an order active lock the row, so that two do not both take the last place (STANDING_ORDERS_MAX).
create table payouts.standing_order_turns (
  partner_id uuid not null references access.partners (id),
  primary key (partner_id)
);
select public.shard('payouts.standing_order_turns');

-- Requests to return a payout, within the periods of the SEPA rulebooks.
create table payouts.recalls (
  partner_id uuid not null references access.partners (id), id uuid not null,
  payout_id uuid not null,
  transaction_id uuid not null, -- its timeline gets the steps.
  payout_reference text not null, connector text not null,
  instruction_id uuid not null,
  amount bigint not null check (amount > 0), currency text not null,
  reason text not null check (reason in ('DUPL', 'TECH', 'FRAD', 'CUST', 'AC03', 'AM09')), -- ISO 20022, ExternalCancellationReason1Code.
  details text, -- of the partner. Null: none, or the customer was erased.
  status text not null check (status in ('Requested', 'Sent', 'Accepted', 'Refused', 'Expired')),
  requested_by uuid not null, requested_name text not null, requested_at timestamptz not null,
  request_due_on date not null, -- the last day for the request.
  sent_at timestamptz,
  answer_due_on date, answer_due_at timestamptz, -- the last day for the answer, and its end where TARGET is.
  answered_at timestamptz, answer_code text,
  expired_at timestamptz,
  settled_amount bigint check (settled_amount > 0 and settled_amount <= amount), -- the money that came back, and the transaction that brought it.
  return_reference text, returned_at timestamptz,
  due_at timestamptz, -- when a worker gives it to the bank. Null: the bank has it, or does not get it.
  lease_id uuid,
  attempts integer not null,
  updated_at timestamptz not null,
  answer_text text,
  primary key (partner_id, id),
  constraint recalls_reason unique (partner_id, payout_id, reason),
  check ((status = 'Requested') = (due_at is not null)),
  check (status <> 'Sent' or answer_due_at is not null),
  check (status <> 'Expired' or expired_at is not null),
  check ((sent_at is null) = (answer_due_at is null) and (sent_at is null) = (answer_due_on is null)),
  check ((settled_amount is null) = (returned_at is null) and (settled_amount is null) = (return_reference is null)),
  check (settled_amount is null or status = 'Accepted')
);
comment on column payouts.recalls.answer_text is
  'Plain and bounded. Null: the bank gave a code only, has not answered, or the customer was erased.';
select public.shard('payouts.recalls');
-- A payout has one recall that the bank has not answered.
create unique index recalls_open on payouts.recalls (partner_id, payout_id) where status in ('Requested', 'Sent');
create index recalls_due on payouts.recalls (connector, due_at, partner_id) where due_at is not null;
create index recalls_overdue on payouts.recalls (answer_due_at, partner_id, id) where status = 'Sent';
create index recalls_expired on payouts.recalls (expired_at, partner_id, id) where status = 'Expired';
