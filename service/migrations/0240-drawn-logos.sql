-- The logo of a partner as documents draw it: a few pixels, made once when the logo is set.
-- Why: each receipt decoded the logo as it was given, up to four million pixels on the main thread.
-- A version before changes `logo` alone. `drawn_from`, the SHA-256 of the logo that was drawn, then differs, and the logo is drawn
-- again at its next document. Null in `drawn_logo` beside a digest: documents cannot draw this logo.
-- Locks: ACCESS EXCLUSIVE on checkout.branding while its rows are checked: one for each partner that has set something.
alter table checkout.branding add column drawn_logo bytea, add column drawn_from bytea;
alter table checkout.branding
  add constraint branding_drawn_logo check (length(drawn_logo) between 1 and 262144),
  add constraint branding_drawn_from check (length(drawn_from) = 32);
