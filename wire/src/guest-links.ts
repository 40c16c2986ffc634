/** Guest links: a person without an account opens the webhook pages by a link in a mail. Extensions. */
import {
  Email,
  Timestamp,
  Type,
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

export const guestAccesses = ['read', 'manage'] as const
export type GuestAccess = (typeof guestAccesses)[number]
/** Seven days. */
export const guestLinkHoursMax = 7 * 24
export const guestLinkHoursDefault = 24

const guestLinkStatuses = ['Pending', 'Open', 'Expired', 'Revoked', 'Ended'] as const

const accessText =
  '`read`: endpoints, events and attempts. `manage`: also creates, tests and deletes endpoints, rotates secrets and sends events again.'

export const GuestLinkCreate = closed({
  email: described(Email, 'Address that receives the link.'),
  fullName: described(singleLine(nameCharsMax), 'Name of the guest, 1 to 140 characters.', {
    examples: ['Joan Clarke'],
  }),
  access: described(oneOf(guestAccesses), `${accessText} You can grant only access that you have.`),
  expiresInHours: described(
    optional(nullable(Type.Integer({ minimum: 1, maximum: guestLinkHoursMax }))),
    'Hours until link and session end, 1 to 168. Absent or null: 24.',
    { examples: [24] },
  ),
})

export const GuestLink = closed({
  guestLinkId: described(Uuid, 'Identifies the link. Audit records of the guest have it as the id of the actor.'),
  email: described(Type.String(), 'Address that received the link.'),
  fullName: described(Type.String(), 'Name of the guest.'),
  access: described(oneOf(guestAccesses), accessText),
  status: described(
    oneOf(guestLinkStatuses),
    '`Pending`: not opened yet. `Open`: the guest is signed in. `Expired`: the time is over. `Revoked`: withdrawn. ' +
      '`Ended`: its creator has lost the permission.',
  ),
  madeById: described(Uuid, 'Identifies the user or service account that made the link.'),
  madeByFullName: described(Type.String(), 'Name of the user or service account that made the link.'),
  createdAt: described(Timestamp, 'Time of creation.'),
  expiresAt: described(Timestamp, 'Time at which link and session end.'),
  openedAt: described(nullable(Timestamp), 'Time at which the guest opened the link. Null: not yet.'),
  lastUsedAt: described(nullable(Timestamp), 'Time at which the guest last used it, to the minute. Null: not yet.'),
  revokedAt: described(nullable(Timestamp), 'Time at which the link was revoked. Null: it was not.'),
})
export const GuestLinkPage = page(GuestLink)
export const GuestLinkQuery = closed(pageQuery)
