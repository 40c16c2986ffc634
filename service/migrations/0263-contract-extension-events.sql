-- Webhooks: extension event types that 0261 has copied leave `events`.
-- Why: only the version before delivers by them. The other names stay: they yield no deliveries, and a warning says so.
-- Locks: subscriptions, of which a partner has at most twenty, for a moment.

update delivery.subscriptions set events = array(
  select name from unnest(events) as given (name) where not (name = any(extension_events)))
where events && extension_events and '*' <> all(extension_events);
