/** Users: invitations to the partner's team, and the team. Create, get and resend of invitations are documented; the rest are extensions. */
import {
  Email,
  Timestamp,
  Type,
  Url,
  Uuid,
  closed,
  described,
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

const redirectText =
  'Target of the invitation link: an absolute `https` URL. The sandbox also allows `http` on localhost.'

const InvitationEntry = closed({
  email: described(Email, 'Address that receives the invitation.'),
  fullName: described(singleLine(nameCharsMax), 'Name of the person, 1 to 140 characters.', {
    examples: ['Joan Clarke'],
  }),
  role: described(
    oneOf(roles),
    '`Admin`: every permission. `Developer`: reads, webhooks and simulations. `Operator`: daily work with money.',
  ),
  redirectUrl: described(optional(nullable(Url)), redirectText, { examples: ['https://partner.example.com/join'] }),
})

/** Interface document, Invitation request. */
export const InvitationsCreate = closed({
  invitations: described(
    Type.Array(InvitationEntry, { minItems: 1, maxItems: invitationsPerRequestMax }),
    'One entry per invited person, 1 to 50. All are created or none.',
  ),
  expiryInDays: described(
    optional(nullable(Type.Integer({ minimum: 1, maximum: invitationExpiryDaysMax }))),
    'Days until the invitations expire, 1 to 30. Absent or null: 7.',
    { examples: [7] },
  ),
})

/** Interface document, Invitation. */
export const Invitation = closed({
  inviteId: described(Uuid, 'Identifies the invitation.'),
  email: described(Type.String(), 'Address that received the invitation.'),
  roleName: described(oneOf(roles), 'Role that the invited person gets.'),
  status: described(
    oneOf(invitationStatuses),
    '`Pending`: can be accepted. `Accepted`: the person joined. `Expired`: the time is over. `Revoked`: withdrawn.',
  ),
  invitedById: described(Type.String(), 'Identifies the user or service account that sent the invitation.'),
  invitedByFullName: described(Type.String(), 'Name of the user or service account that sent the invitation.'),
  createdAt: described(Timestamp, 'Time of creation.'),
  updatedAt: described(Timestamp, 'Time of the last change or resend.'),
})
export const Invitations = closed({
  invitations: described(Type.Array(Invitation), 'The created invitations, in the order of the request.'),
})

/** Interface document, Invitation resend request. Without a body, the earlier redirect URL stays. */
export const InvitationResend = closed({
  redirectUrl: described(optional(nullable(Url)), `${redirectText} Absent: the earlier one stays.`, {
    examples: ['https://partner.example.com/join'],
  }),
})
export const InvitationPage = page(Invitation)
export const InvitationQuery = closed({
  ...pageQuery,
  status: described(optional(oneOf(invitationStatuses)), 'Only invitations with this status.'),
})

export const factors = ['passkey', 'password'] as const

/** A person of the partner's team. */
export const User = closed({
  userId: described(Uuid, 'Identifies the user.'),
  email: described(Type.String(), 'Address of the invitation that the user accepted.'),
  fullName: described(Type.String(), 'Name of the user.'),
  roleName: described(oneOf(roles), 'Role of the user, which decides what the user may do.'),
  factors: described(
    Type.Array(oneOf(factors)),
    'How the user can sign in. `passkey`: a passkey. `password`: a password with an authenticator app.',
  ),
  lastSignInAt: described(
    nullable(Timestamp),
    'Time of the last sign-in. Null: the user has not signed in again since joining.',
  ),
  createdAt: described(Timestamp, 'Time at which the user accepted the invitation.'),
  updatedAt: described(Timestamp, 'Time of the last change of the role.'),
})
export const UserPage = page(User)
export const UserQuery = closed({
  ...pageQuery,
  role: described(optional(oneOf(roles)), 'Only users with this role.'),
})
export const UserUpdate = closed({
  role: described(oneOf(roles), 'The new role. You can only give a role whose permissions you have.', {
    examples: ['Developer'],
  }),
})
