/** Pure: the roles of staff, their rights, and the forms of names and tokens. */
import { createHash } from 'node:crypto'
import { Refusal } from '../../kernel/api/index.ts'
import { type CaseKind, caseKinds } from '../../cases/index.ts'
import { assert, hourMs, minuteMs } from '../../kernel/index.ts'

/**
 * The id of staff in the tables of sign-in, in place of a partner's id (RFC 9562, version 8). It is not the id of a partner, so that a session
 * of a team cannot open the desk.
 */
export const staffRealmId = '00000000-0000-8000-8000-000000000001'

export const staffRoles = ['support', 'compliance', 'finance', 'admin'] as const
export type StaffRole = (typeof staffRoles)[number]

/** Roles that turn monitoring rules on and off. */
const ruleRoles: readonly StaffRole[] = ['compliance', 'admin']
export const canToggleRules = (role: StaffRole): boolean => ruleRoles.includes(role)

/** The kinds of decisions by staff. */
export const decidedKinds = [...caseKinds, 'screening_hit'] as const
export type DecidedKind = CaseKind | 'screening_hit'

const [compliance, finance] = [['compliance', 'admin'] as const, ['finance', 'admin'] as const]

/** Compliance decides matches of lists and rules. Finance decides money without an owner, and differences at a bank. */
export const defaultDeciders: Readonly<Record<DecidedKind, readonly StaffRole[]>> = {
  unknown_payment: finance,
  contradiction: finance,
  amount_differs: finance,
  credit_reversed: finance,
  bank_fee: finance,
  doubled: finance,
  unknown_debit: finance,
  file_unreadable: finance,
  file_refused: finance,
  message_differs: finance,
  statement_gap: finance,
  statement_overlap: finance,
  sum_differs: finance,
  payment_missing: finance,
  foreign_currency: finance,
  entry_unclear: finance,
  announced_missing: finance,
  payee_mismatch: finance,
  recall_letter: finance,
  unexplained: finance,
  safeguarding: finance,
  account_blocked: compliance,
  customer_not_verified: compliance,
  payer_data_missing: compliance,
  sanctions_hold: compliance,
  monitoring_alert: compliance,
  screening_hit: compliance,
}

/** Checks that an admin remains. Refuses: validation_failed. `admins`: the number of admins, including this one. */
export function refuseLastAdmin(role: StaffRole, admins: number): void {
  if (role === 'admin' && admins === 1)
    throw new Refusal('validation_failed', 'The account is the last admin: invite another admin first.')
}

export const invitationMs = 24 * hourMs

export const emailKey = (email: string): string => email.trim().toLowerCase()

/** A person must confirm the sign-in of a command within this time. */
export const confirmMs = 10 * minuteMs
/** The time for which a confirmed command may act for the person. */
export const commandSessionMs = hourMs
/** Maximum validity of a token for a schedule, in days. */
export const scheduleTokenDaysMax = 366
/** The time within which a second person must approve or reject a change. */
export const changeMs = 72 * hourMs
export const originCharsMax = 200

/** Letters without vowels, so that codes are never words (RFC 8628, section 6.1). */
const userCodeLetters = 'BCDFGHJKLMNPQRSTVWXZ'
const userCodeChars = 8

/** Bytes below this give every letter with the same probability. */
const unbiased = 256 - (256 % userCodeLetters.length)

/** Formats a code of 34 bits, `BCDF-GHJK`, from more random bytes than it needs. */
export function formatUserCode(random: Uint8Array): string {
  const letters = [...random]
    .filter((byte) => byte < unbiased)
    .map((byte) => userCodeLetters[byte % userCodeLetters.length])
  assert(letters.length >= userCodeChars, 'a code is made of enough random bytes')
  return letters
    .slice(0, userCodeChars)
    .join('')
    .replace(/^(.{4})/, '$1-')
}

/** Hashes a typed code in any case and with or without hyphen. */
export const userCodeHash = (code: string): Buffer =>
  createHash('sha256')
    .update(code.toUpperCase().replaceAll(/[^A-Z]/g, ''))
    .digest()
