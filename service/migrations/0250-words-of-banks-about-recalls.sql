-- The bank's own words in its answer to a recall.
-- Why: a bank may give its reason as a sentence (NARR), which a code does not say.
-- Processes of the version before may run: they leave the column null.
-- Locks: exclusive, for an instant, on recalls.
alter table payouts.recalls add column answer_text text;
comment on column payouts.recalls.answer_text is
  'Plain and bounded. Null: the bank gave a code only, has not answered, or the customer was erased.';
