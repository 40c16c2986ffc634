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

export const factors = ['passkey', 'password', 'sso'] as const

/** A person of the partner's team. */
export const User = closed({
  userId: described(Uuid, 'Identifies the user.'),
  email: described(Type.String(), 'Address of the invitation that the user accepted.'),
  fullName: described(Type.String(), 'Name of the user.'),
  roleName: described(oneOf(roles), 'Role of the user, which decides what the user may do.'),
  factors: described(
    Type.Array(oneOf(factors)),
    'How the user can sign in. `passkey`: a passkey. `password`: a password with an authenticator app. `sso`: the single sign-on of the partner.',
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

/** Creates the schema of the claim values that grant a role. A person with values of several roles gets the first of Admin, Operator, Developer. */
const valuesOf = (role: string) =>
  described(
    optional(Type.Array(singleLine(nameCharsMax), { maxItems: 20 })),
    `Values that give the role \`${role}\`.`,
    {
      examples: [['payments-team']],
    },
  )
const RoleValues = closed({
  Admin: valuesOf('Admin'),
  Operator: valuesOf('Operator'),
  Developer: valuesOf('Developer'),
})
const issuerText =
  'URL of the provider, as its metadata has it as `issuer`: an absolute `https` URL. The sandbox also allows `http` on localhost.'
const domainText = 'Domain of the email addresses of your team.'
const roleClaimText = 'The claim that lists the groups or roles of a person. Null: roles are given by invitations.'
const rolesText = 'The values of `roleClaim` for each role. Null without `roleClaim`.'
const requiredText = 'Whether members other than `Admin` sign in by the provider only, once the domain is proved.'

/** A provider of OpenID Connect for the partner's team. */
export const SingleSignOnUpdate = closed({
  issuer: described(Url, issuerText, { examples: ['https://id.example.com'] }),
  clientId: described(singleLine(255), 'The client that the provider has for you.', { examples: ['partner-payments'] }),
  clientSecret: described(
    optional(nullable(singleLine(1000))),
    'The client secret. It is stored sealed, and never returned. Absent or null: unchanged.',
    { examples: ['correct horse battery staple'] },
  ),
  emailDomain: described(singleLine(253), domainText, { examples: ['acme.example'] }),
  roleClaim: described(optional(nullable(singleLine(nameCharsMax))), roleClaimText, { examples: ['groups'] }),
  roles: described(optional(nullable(RoleValues)), rolesText),
  required: described(optional(nullable(Type.Boolean())), `${requiredText} Absent or null: false.`),
})
export const SingleSignOn = closed({
  issuer: described(Type.String(), issuerText),
  clientId: described(Type.String(), 'The client that the provider has for you.'),
  redirectUri: described(Type.String(), 'The redirect URI that the provider has to allow for the client.'),
  emailDomain: described(Type.String(), domainText),
  domainRecord: described(
    closed({
      name: described(Type.String(), 'Name of the record.'),
      type: described(oneOf(['TXT'] as const), 'Type of the record.'),
      value: described(Type.String(), 'Text of the record.'),
    }),
    'The DNS record by which you prove the domain.',
  ),
  domainProvedAt: described(
    nullable(Timestamp),
    'Time at which the domain was proved. Null: it is not proved, and the provider cannot sign people in yet.',
  ),
  roleClaim: described(nullable(Type.String()), roleClaimText),
  roles: described(nullable(RoleValues), rolesText),
  required: described(Type.Boolean(), requiredText),
  createdAt: described(Timestamp, 'Time of the first configuration.'),
  updatedAt: described(Timestamp, 'Time of the last change.'),
})
