-- An invitation knows who gave it last: who invited, or who sent it again. It opens the team only while that person or key could still give its role.
-- Why: the invitation of a key that was revoked because others had it, or of an Admin who was removed, let its people in for days.
-- Processes of the version before may run: what they invite has no giver, and counts as given by who invited.
-- Locks: users.invitations, for an instant: the column has no default.
alter table users.invitations add column given_by_id uuid;
