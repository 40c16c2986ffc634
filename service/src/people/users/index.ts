/**
 * Users: invitations to a partner's team, the team, and the service accounts that the team manages (their rows belong to `access`).
 *
 * Tables: users.invitations, users.invitation_mails, users.members, users.single_sign_on, users.single_sign_on_changes, users.recoveries, users.guest_links, users.saved_views, users.uploads.
 * Invariants: a guest link opens once. An invitation is accepted once, and its member has its id. A team that has an Admin keeps one.
 * A member has one recovery at a time, whose link works once. An address has one live invitation of a partner (also a unique index).
 * Rows store a token only as its SHA-256. Each new token is mailed in the transaction that creates it. A resend revokes the previous token.
 *
 * Choices that the contract leaves open: an expired invitation can be resent, which makes it Pending again, unless the
 * address has a newer live invitation. Resends are at least 60 s apart, but the first may follow the creation at once. A null
 * `redirectUrl` equals an absent one. An invitation expires at its `expiresAt`, which `updatedAt` then shows even if
 * the row is not updated yet.
 */
export {
  renderSignInChange,
  renderSignInLink,
  renderInvitation,
  createImpersonationNotice,
  renderImpersonationMail,
} from './mails.ts'
export { renderNewDevice } from './entrances.ts'
export { createFactors, type Factors } from './factors.ts'
export { createFirstAdmin, type FirstAdmin, createUsers } from './service.ts'
export { guestLinksRoutes, usersRoutes, serviceAccountsRoutes } from './routes.ts'
export { createGuestLinks, type GuestLinks, renderGuestLink } from './guest-links.ts'

export { createPayoutRightCheck } from './makers.ts'
export type { MembersDeps, SignedInUser, SignInResult } from './member-deps.ts'
export { createMembers, type Members, membersRoutes } from './member-routes.ts'
export { sealedClientSecrets, sealedPendingSecrets } from './store-entrances.ts'
export { type CancellableRecovery, renderRecoveryLink, renderRecoveryReport, recoveriesJob } from './recoveries.ts'

export { renderRoleChange } from './role-changes.ts'

export { memberIdsAfter, subjectOfMember, listTeam } from './store.ts'
export { createSavedViews, type SavedViews } from './saved-views.ts'
export {
  createUploads,
  sealedUploads,
  type SendingLease,
  type Upload,
  type UploadKind,
  type Uploads,
  uploadsJob,
} from './uploads.ts'

export { renderKeyChange, createServiceAccounts } from './service-accounts.ts'

export { eraseUploads } from './store-uploads.ts'
