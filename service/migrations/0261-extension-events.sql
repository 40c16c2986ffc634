-- Webhooks: the extension event types of a subscription apart from those of the interface document.
-- Why: a name in `events` that is outside the emitted set yields no deliveries, as the document says. Extensions are subscribed in a field of
-- their own. The names that subscriptions have are copied, so that both versions deliver them until 0263 removes them from `events`.
-- Processes of the version before may run: they deliver by `events`, and a name that is added there meanwhile stays there with a warning.
-- Locks: subscriptions, of which a partner has at most twenty, for a moment.

alter table delivery.subscriptions add column extension_events text[] not null default '{}';
update delivery.subscriptions set extension_events = array(
  select name from unnest(events) as given (name)
  where name = any(array['beneficiary.verification.worsened', 'customer.verification.updated', 'payout.recall.updated',
    'checkout.part.updated', 'checkout.refund.updated', 'account.balance.crossed', 'standing.order.failed', 'standing.order.ended']));
