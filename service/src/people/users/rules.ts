/** The rules of invitations. */
import type { BodyOf, FieldError, users as wire } from '@partner-payments/wire'
import { Refusal, refuseFields } from '../../kernel/api/index.ts'
import { assert, dayMs, minuteMs, secondMs } from '../../kernel/index.ts'
import type { SubjectKey } from '../../screening/index.ts'
import type { MailCounts } from './store.ts'

export type InvitationEntry = BodyOf<'createInvitations'>['invitations'][number]
type Validity = { readonly status: wire.InvitationStatus; readonly expiresAt: Date }

const resendsMax = 5
const resendSpacingMs = minuteMs
/** Daily limit of an address: an invitation and its resends. */
const mailsOfAddressMax = 1 + resendsMax
const mailsOfPartnerMax = 200
export const tokenRandomBytes = 32

/** Returns the screening subject of a person of the team. */
export const personKey = (partnerId: string, id: string): SubjectKey => ({ partnerId, kind: 'person', id })

/** Normalizes an address: equal for spellings that mail servers do not distinguish in practice. */
export function emailKey(email: string): string {
  return email.normalize('NFC').toLowerCase()
}

/** Encodes the partner's id, which leads to the partner's rows, and 256 random bits in base64url. */
export function encodeToken(partnerId: string, random: Uint8Array): string {
  assert(random.length === tokenRandomBytes, 'a token has 256 random bits')
  return Buffer.concat([Buffer.from(partnerId.replaceAll('-', ''), 'hex'), random]).toString('base64url')
}

/** Computes the status that the API shows: an invitation expires without an update of its row. */
export function invitationStatus({ status, expiresAt }: Validity, now: Date): wire.InvitationStatus {
  return status === 'Pending' && expiresAt <= now ? 'Expired' : status
}

/**
 * Refuses (400) with all bad fields in one response: an address or a name with characters that a mail cannot have, a
 * repeated address, a redirect that is not https.
 */
export function refuseBadEntries(entries: readonly InvitationEntry[], sandbox: boolean): void {
  const seen = new Set<string>()
  const errors = entries.flatMap((entry, index) => {
    const at = `/invitations/${index}`
    const key = emailKey(entry.email)
    const again = seen.has(key)
    seen.add(key)
    return [
      ...emailErrors(`${at}/email`, entry.email),
      ...(again ? [fieldError(`${at}/email`, 'invalid_value', 'is repeated in the request')] : []),
      ...nameErrors(`${at}/fullName`, entry.fullName),
      ...redirectErrors(`${at}/redirectUrl`, entry.redirectUrl, sandbox),
    ]
  })
  refuseFields(errors)
}

/** Refuses (400): a redirect that is not https. */
export function refuseBadRedirect(redirectUrl: string | null | undefined, sandbox: boolean): void {
  const errors = redirectErrors('/redirectUrl', redirectUrl, sandbox)
  refuseFields(errors)
}

const fieldError = (pointer: string, code: FieldError['code'], message: string): FieldError => ({
  pointer,
  code,
  message,
})

// A mailbox may have the special characters of RFC 5322 section 3.2.3 only inside quotes, and mail software disagrees
// about whom such a mailbox means. Control characters can end a header line.
const addressSpecials = /[\p{Cc}\s"(),:;<>[\\\]]/u

export function emailErrors(pointer: string, email: string): readonly FieldError[] {
  if (!addressSpecials.test(email) && email.isWellFormed()) return []
  return [
    fieldError(
      pointer,
      'invalid_character',
      'has a character that an address cannot have; must be an address such as name@example.com',
    ),
  ]
}

// A mail to a stranger shows the name. Mail programs turn addresses and host names into links.
const nameText = /^[\p{L}\p{M}\p{N}\p{Zs}.,'’‘`´ʼ"“”„()&·‐‑–-]*$/u
const hostName = /[\p{L}\p{N}-]\.[\p{L}\p{N}-]{2,}/u

export function nameErrors(pointer: string, name: string): readonly FieldError[] {
  if (name.trim() === '') return [fieldError(pointer, 'empty', 'must not be blank')]
  if (nameText.test(name) && !hostName.test(name)) return []
  const message = "must be a name: letters, digits, spaces and . , ' - ( ) & and quotes, a space after a dot"
  return [fieldError(pointer, 'invalid_character', message)]
}

const sandboxHosts: readonly string[] = ['localhost', '127.0.0.1']

const redirectErrors = (pointer: string, text: string | null | undefined, sandbox: boolean): readonly FieldError[] =>
  text === null || text === undefined
    ? []
    : urlErrors(pointer, text, { sandbox, example: 'https://partner.example.com/join' })

/** Lists what is wrong with the URL of a redirect or a provider. */
export function urlErrors(
  pointer: string,
  text: string,
  { sandbox, example }: { readonly sandbox: boolean; readonly example: string },
): readonly FieldError[] {
  // The URL parser repairs blanks, backslashes and a missing slash, as browsers do. A link in a mail must not need repair.
  const url = /^https?:\/\/[^\s\p{Cc}\\]+$/iu.test(text) ? URL.parse(text) : null
  if (url === null)
    return [fieldError(pointer, 'invalid_format', `must be an absolute https URL, for example ${example}`)]
  if (url.username !== '' || url.password !== '')
    return [fieldError(pointer, 'invalid_value', 'must not have a user name or a password')]
  if (url.protocol === 'https:' || (sandbox && sandboxHosts.includes(url.hostname))) return []
  return [fieldError(pointer, 'invalid_value', sandbox ? 'must be https, or http to localhost' : 'must be https')]
}

/** Formats the day in UTC. */
export const utcDay = (now: Date): string => now.toISOString().slice(0, 10)

/** Refuses: rate_limited (with Retry-After). A new invitation after a revocation counts like a resend. */
export function refuseExcessMails({ ofPartner, ofAddress }: MailCounts, now: Date): void {
  if (ofPartner <= mailsOfPartnerMax && ofAddress <= mailsOfAddressMax) return
  const seconds = Math.ceil((Date.parse(utcDay(now)) + dayMs - now.getTime()) / secondMs)
  const which =
    ofAddress > mailsOfAddressMax
      ? `An address gets at most ${mailsOfAddressMax} invitation mails a day`
      : `A partner sends at most ${mailsOfPartnerMax} invitation mails a day`
  throw new Refusal('rate_limited', `${which} (UTC).`, { headers: { 'Retry-After': String(seconds) } })
}

/** Checks that an invitation may be resent. Refuses: invitation_not_pending, resend_limit_reached, resend_too_soon (with Retry-After). */
export function requireResendable(
  row: Validity & { readonly resends: number; readonly resentAt: Date | null },
  now: Date,
): void {
  const status = invitationStatus(row, now)
  if (status !== 'Pending' && status !== 'Expired')
    throw new Refusal(
      'invitation_not_pending',
      `The invitation is ${status.toLowerCase()}. Only a pending or expired invitation can be resent.`,
    )
  if (row.resends >= resendsMax)
    throw new Refusal(
      'resend_limit_reached',
      `The invitation was resent ${resendsMax} times. Create a new one after this one is revoked or expired.`,
    )
  const waitMs = row.resentAt === null ? 0 : row.resentAt.getTime() + resendSpacingMs - now.getTime()
  if (waitMs <= 0) return
  const seconds = Math.ceil(waitMs / secondMs)
  throw new Refusal('resend_too_soon', `The invitation can be resent in ${seconds} s.`, {
    headers: { 'Retry-After': String(seconds) },
  })
}

/** Checks that an invitation may be revoked. Refuses: invitation_not_pending. */
export function requireRevocable(row: Validity, now: Date): void {
  const status = invitationStatus(row, now)
  if (status === 'Pending') return
  throw new Refusal(
    'invitation_not_pending',
    `The invitation is ${status.toLowerCase()}. Only a pending invitation can be revoked.`,
  )
}

/** Refuses (409) with a pointer to each entry whose address has a live invitation. */
export function refuseTakenAddresses(entries: readonly InvitationEntry[], taken: ReadonlySet<string>): void {
  const errors = entries.flatMap(({ email }, index) =>
    taken.has(emailKey(email))
      ? [fieldError(`/invitations/${index}/email`, 'exists', 'already has a live invitation')]
      : [],
  )
  if (errors.length > 0) throw new Refusal('invitation_exists', undefined, { errors })
}

/** Refuses (409): the only Admin. */
export function refuseLastAdmin(role: wire.Role, admins: number): void {
  if (role === 'Admin' && admins <= 1) throw new Refusal('last_admin')
}
