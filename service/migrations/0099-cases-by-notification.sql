-- Cases by the notification of the bank, also resolved ones.
-- Why: a case may be resolved before the bank's connector forgets the notification. Reconciliation then has to find it, without knowing
-- its partner; and there are more resolved cases with every year.
-- Processes of the version before may run.
-- Locks: no writes to cases while the index is built. There are as many rows as a bank has sent oddities.
create index cases_by_notification on cases.cases (connector, notification_id);
