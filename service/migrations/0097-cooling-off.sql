-- Cooling-off: how long after its creation, or after a new name, a beneficiary is not paid. And since when it has its name.
-- Why: issue 19. Who takes over an account adds a payee, or renames one, and pays it at once.
-- Processes of the version before may run: they pay without a cooling-off, and do not record new names. So rules are set once none
-- of them runs.
-- Locks: writes to partners wait for an instant while the foreign key is added; exclusive, for an instant, on beneficiaries (a
-- nullable column is no rewrite).
create table payouts.cooling_offs (
  partner_id uuid not null references access.partners (id),
  id uuid not null,
  currency text not null,
  hours integer not null check (hours between 1 and 8760),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (partner_id, id),
  constraint cooling_offs_key unique (partner_id, currency)
);
select public.shard('payouts.cooling_offs');

-- null: it has the name of its creation.
alter table beneficiaries.beneficiaries add column named_at timestamptz;
