/**
 * Users: invitations to a partner's team, and the queue of the mails that carry them.
 *
 * Tables: users.invitations, users.mails. Invariants: one live invitation per address and partner (also a unique index);
 * a token is stored only as its SHA-256, and sealed in the row of its mail until that is sent or given up; a resend
 * kills the token before it. Every new token writes its mail in the same transaction: what commits is sent, at least
 * once.
 *
 * Where the contract leaves a choice: an expired invitation can be resent, which makes it Pending again, unless a newer
 * one for the address is live. Resends are 60 s apart from each other; the first may follow the creation at once. A
 * null `redirectUrl` says the same as an absent one. An invitation expires at its `expiresAt`, and `updatedAt` says so,
 * whether or not the row has followed.
 */
export type { MailQueue } from './mails.ts'
export { usersRoutes } from './routes.ts'
export { createUsers, type Invitation, type Users } from './service.ts'
export type { ClaimedMail, MailKind, Member } from './store.ts'
