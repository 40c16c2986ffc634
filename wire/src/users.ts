/** Users: invitations to the partner's team. Create, get and resend are documented; list and revoke are extensions. */
import {
  Email,
  Timestamp,
  Type,
  Url,
  Uuid,
  closed,
  nameCharsMax,
  nullable,
  oneOf,
  optional,
  page,
  pageQuery,
  singleLine,
} from './shapes.ts'

export const roles = ['Admin', 'Developer', 'Operator'] as const
export type Role = (typeof roles)[number]
export const invitationStatuses = ['Pending', 'Accepted', 'Expired', 'Revoked'] as const
export type InvitationStatus = (typeof invitationStatuses)[number]

export const invitationsPerRequestMax = 50
export const invitationExpiryDaysMax = 30
export const invitationExpiryDaysDefault = 7

/** Interface document, Invitation request. */
export const InvitationsCreate = closed({
  invitations: Type.Array(
    closed({
      email: Email,
      fullName: singleLine(nameCharsMax),
      role: oneOf(roles),
      redirectUrl: optional(nullable(Url)),
    }),
    { minItems: 1, maxItems: invitationsPerRequestMax },
  ),
  expiryInDays: optional(nullable(Type.Integer({ minimum: 1, maximum: invitationExpiryDaysMax }))),
})

/** Interface document, Invitation. */
export const Invitation = closed({
  inviteId: Uuid,
  email: Type.String(),
  roleName: oneOf(roles),
  status: oneOf(invitationStatuses),
  invitedById: Type.String(),
  invitedByFullName: Type.String(),
  createdAt: Timestamp,
  updatedAt: Timestamp,
})
export const Invitations = closed({ invitations: Type.Array(Invitation) })

/** Interface document, Invitation resend request. Without a body, the earlier redirect URL stays. */
export const InvitationResend = closed({ redirectUrl: optional(nullable(Url)) })
export const InvitationPage = page(Invitation)
export const InvitationQuery = closed({ ...pageQuery, status: optional(oneOf(invitationStatuses)) })
