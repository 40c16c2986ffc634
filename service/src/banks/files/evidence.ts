/** Rates whether two reports of the same amount are about one entry. Pure. */
import { dayMs } from '../../kernel/index.ts'
import { sepaText } from '../../iso20022/index.ts'
import type { Counterparty, References, Unit } from './units.ts'
import { parseInstructionId } from './ids.ts'

/** Facts of a report about a payment. Names and texts are normalised: `Müller`, `MUELLER` and `Muller` are equal. */
export type PaymentEvidence = {
  readonly bookedOn: string
  readonly references: Partial<References>
  readonly account: string | null
  readonly name: string
  readonly text: string
}

type PaymentReport = Pick<Unit, 'bookedOn' | 'remittance'> & {
  readonly references: Partial<References>
  readonly counterparty: Pick<Counterparty, 'name' | 'account'>
}

export const paymentEvidence = ({
  bookedOn,
  references,
  counterparty,
  remittance,
}: PaymentReport): PaymentEvidence => ({
  bookedOn,
  references,
  account: counterparty.account,
  name: plainText(counterparty.name),
  text: plainText(remittance),
})

/** Longer than any text of a message. */
const plainCharsMax = 1000
function plainText(text: string | null): string {
  if (text === null || text === '') return ''
  const found = sepaText(text, plainCharsMax)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, '')
    .replace(/([aou])e/g, '$1')
  return found === 'notprovided' ? '' : found
}

/**
 * How two reports are related. `days`: from the announcement to the statement, or between two announcements. `isNamed`:
 * one report says that its details are in the message of the other (AddtlInfInd).
 */
export type ReportRelation = { readonly days: number; readonly isStatement: boolean; readonly isNamed: boolean }

/**
 * `strong`: a reference of the payer or the scheme agrees, and none contradicts. `same`: account, name, text and day
 * agree enough. `maybe`: a person decides. `other`: the reports are about two entries.
 */
export type Verdict = 'strong' | 'same' | 'maybe' | 'other'
export type MatchRating = { readonly points: number; readonly verdict: Verdict }

/** A long weekend (Easter) and a late posting may lie between the announcement and the statement. */
export const statementDaysMax = 5
/** Two announcements of an entry may lie on both sides of midnight. */
const announcementDaysMax = 1

const points = { reference: 100, creditor: 60, bank: 52, account: 50, text: 45, name: 30, day: 10 } as const
const sameFrom = 55
/** The lowest agreement at which the bank may have changed the end-to-end id, so that a person decides. */
const doubtFrom = 90
const differs = -30

/** Ids of the payer and the scheme, which differ between payments. */
const ids = ['endToEnd', 'transaction', 'uetr'] as const

export function comparePayments(
  one: PaymentEvidence,
  other: PaymentEvidence,
  { days, isStatement, isNamed }: ReportRelation,
): MatchRating {
  if (isOtherInstruction(one, other)) return { points: 0, verdict: 'other' }
  const found = agreement(one, other)
  const agreed = found.reduce((sum, part) => sum + part, days === 0 ? points.day : 0)
  const isStrong = isNamed || sharesReference(one, other)
  const total = agreed + (isStrong ? points.reference : 0)
  const isLate = days < 0 || days > (isStatement ? statementDaysMax : announcementDaysMax)
  if (isLate) return { points: total, verdict: isStrong && days === -1 ? 'maybe' : 'other' }
  if (contradicts(one, other)) return { points: total, verdict: isStrong || agreed >= doubtFrom ? 'maybe' : 'other' }
  if (isStrong) return { points: total, verdict: 'strong' }
  const isSame = total >= sameFrom && (found.includes(points.bank) || !found.includes(differs))
  return { points: total, verdict: isSame ? 'same' : total < 0 ? 'other' : 'maybe' }
}

/** Reports whether the reports agree more than they differ, apart from the reference of the bank. */
export const agreesBesidesReference = (one: PaymentEvidence, other: PaymentEvidence): boolean =>
  evidencePoints(one, { ...other, references: { ...other.references, bank: null } }) > 0

/** Adds up the points of agreement between two reports, apart from their days. */
export const evidencePoints = (one: PaymentEvidence, other: PaymentEvidence): number =>
  agreement(one, other).reduce((sum, part) => sum + part, sharesReference(one, other) ? points.reference : 0)

/** Reports whether a third report without references could be about either of the two. */
export const areSimilarWithoutReferences = (one: PaymentEvidence, other: PaymentEvidence): boolean =>
  evidencePoints({ ...one, references: {} }, { ...other, references: {} }) >= 0

export const daysBetween = (from: string, to: string): number => Math.round((Date.parse(to) - Date.parse(from)) / dayMs)

function sharesReference(one: PaymentEvidence, other: PaymentEvidence): boolean {
  const names = paymentReferences(other)
  return paymentReferences(one).some((name) => names.includes(name))
}

/** Lists the references that identify a payment with certainty. */
export const paymentReferences = ({ references }: PaymentEvidence): readonly string[] =>
  [...ids, 'instruction' as const].flatMap((name) => {
    const id = references[name]
    return id === undefined || id === null ? [] : [`${name} ${id}`]
  })

/** Reports whether the reports state the ids of two different payments of ours, which may agree in everything else. */
function isOtherInstruction({ references: one }: PaymentEvidence, { references: other }: PaymentEvidence): boolean {
  const [own, others] = [one, other].map(({ instruction }) => parseInstructionId(instruction ?? '')?.id)
  return own !== undefined && others !== undefined && own !== others
}

/** Reports whether the payments have different ids or different payers. */
function contradicts(one: PaymentEvidence, other: PaymentEvidence): boolean {
  const isOtherId = ids.some(
    (name) => isBoth(one.references[name], other.references[name]) && one.references[name] !== other.references[name],
  )
  return isOtherId || (isIban(one.account) && isIban(other.account) && one.account !== other.account)
}

const isIban = (account: string | null): boolean => /^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(account ?? '')

const isBoth = (one: string | null | undefined, other: string | null | undefined): boolean =>
  typeof one === 'string' && one !== '' && typeof other === 'string' && other !== ''

/** Compares the reference of the creditor, the reference of the bank, account, name and text. */
function agreement(one: PaymentEvidence, other: PaymentEvidence): readonly number[] {
  const [own, others] = [one.references, other.references]
  const creditor = isBoth(own.creditor, others.creditor)
    ? own.creditor === others.creditor
      ? points.creditor
      : differs
    : 0
  const bank = isBoth(own.bank, others.bank) && own.bank === others.bank ? points.bank : 0
  const account = isBoth(one.account, other.account) && one.account === other.account ? points.account : 0
  const name = textPoints(one.name, other.name, points.name, nameCharsMin)
  return [creditor, bank, account, name, textPoints(one.text, other.text, points.text, textCharsMin)]
}

/** A shorter name occurs within many others. */
const nameCharsMin = 5
const textCharsMin = 8

/** Rates two texts. Banks cut texts (at 140, 70 or 35 characters) and put references before them. */
function textPoints(one: string, other: string, agreed: number, charsMin: number): number {
  if (one === '' || other === '') return 0
  const [short, long] = one.length < other.length ? [one, other] : [other, one]
  return short === long || (short.length >= charsMin && long.includes(short)) ? agreed : differs
}

// Assigns bookings to entries that another message has reported, if several fit.

/** A booking and an entry that it may be. */
export type MatchPair<Booking, Row> = {
  readonly booking: Booking
  readonly row: Row
  readonly points: number
  readonly verdict: Verdict
}

/** `open`: entries without a booking. */
type Assignment<Booking, Row> = { readonly payments: Map<Booking, Row>; readonly open: Set<Row> }

/** Assigns each entry to one booking, in the order of the pairs. */
export function assignEntries<Booking, Row>(
  pairs: readonly MatchPair<Booking, Row>[],
  { payments, open }: Assignment<Booking, Row>,
  verdicts: readonly Verdict[],
): void {
  for (const { booking, row, verdict } of pairs)
    if (verdicts.includes(verdict) && !payments.has(booking) && open.delete(row)) payments.set(booking, row)
}

/**
 * Reassigns bookings to other entries that fit equally well, so that a booking with only one fitting entry can have
 * that entry (Kuhn's augmenting paths, 1955). Otherwise that booking would count as a second payment. Returns the
 * possible entries of bookings that still have none.
 */
export function reassignEntries<Booking, Row>(
  pairs: readonly MatchPair<Booking, Row>[],
  { payments, open }: Assignment<Booking, Row>,
): ReadonlyMap<Booking, Row> {
  const byBooking = Map.groupBy(pairs, ({ booking }) => booking)
  const sameOf = (booking: Booking) => (byBooking.get(booking) ?? []).filter(({ verdict }) => verdict === 'same')
  // Matches by reference are final.
  const holders = new Map(
    pairs.flatMap(({ booking, row, verdict }): readonly (readonly [Row, Booking])[] =>
      verdict === 'same' && payments.get(booking) === row ? [[row, booking]] : [],
    ),
  )
  const place = (booking: Booking, visited: Set<Row>): boolean =>
    sameOf(booking).some(({ row }) => {
      if (visited.has(row)) return false
      visited.add(row)
      const holder = holders.get(row)
      if (!open.delete(row) && (holder === undefined || !place(holder, visited))) return false
      payments.set(booking, row)
      holders.set(row, booking)
      return true
    })
  const doubts = new Map<Booking, Row>()
  for (const [booking, own] of byBooking) {
    if (payments.has(booking) || own.some(({ row }) => open.has(row)) || place(booking, new Set())) continue
    for (const { row } of own) {
      const holder = holders.get(row)
      if (holder === undefined || doubts.has(booking)) continue
      if (place(holder, new Set([row]))) {
        holders.delete(row)
        open.add(row)
        doubts.set(booking, row)
      } else {
        const other = byBooking.get(holder)?.find((pair) => open.has(pair.row))
        if (other !== undefined) doubts.set(booking, other.row)
      }
    }
  }
  return doubts
}
