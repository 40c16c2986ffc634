-- Rates: the sheets of exchange rates that the service has read, or made by itself in a sandbox.
-- Why: every process must quote from one sheet, and each quote names the sheet that it was made from.
-- Processes of the version before may run: they do not use the table.
-- Locks: none on existing data; everything here is new.

create schema rates;
create table rates.sheets (
  id uuid primary key,
  source text not null,
  -- when the rates held, by the source; the newest sheet of a source is the one with the latest time.
  as_of timestamptz not null,
  read_at timestamptz not null,
  -- json: for each currency its rate for one euro, as decimal text.
  quotes text not null,
  -- json: which of them a simulation has set by hand. They stay until they are set again.
  by_hand text not null,
  -- a simulation has stopped the source: nothing is quoted until another one starts it again.
  stopped boolean not null,
  constraint sheets_newest unique (source, as_of, id)
);
select public.replicate('rates.sheets');
