/** Matches the bank's reversals of credits with the credits. Their messages may arrive in any order. */
import { ownJson } from '@partner-payments/wire'
import { type Currency, newId } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { BankDeps } from './deps.ts'
import type { Lease } from './lease.ts'
import { type Report, writeReports } from './reports.ts'
import { absolute } from './accounts.ts'
import { formatMatch } from './scores.ts'
import * as entries from './store-entries.ts'
import type { References, Unit } from './units.ts'

/** The references by which a reversal names its credit. */
export type CreditReferences = Pick<References, 'bank' | 'endToEnd'>
export type FindOriginals = (names: CreditReferences) => readonly entries.ReversibleCredit[]

/** Reads the credits that reversals may name, by the bank's reference or the end-to-end id. */
export async function readOriginals(
  tx: Tx,
  of: entries.AccountKey,
  reversals: readonly CreditReferences[],
): Promise<FindOriginals> {
  const bookings = reversals.flatMap(creditBookingKeys)
  const ids = reversals.flatMap(({ endToEnd }) => endToEnd ?? [])
  const byBooking = bookings.length === 0 ? [] : await entries.creditsByBooking(tx, of, bookings)
  const byEndToEnd = ids.length === 0 ? [] : await entries.creditsByEndToEnd(tx, of, ids)
  return (names) => {
    const own = creditBookingKeys(names)
    return [
      ...byBooking.filter(({ booking }) => booking !== null && own.includes(booking)),
      ...byEndToEnd.filter(({ endToEndId }) => endToEndId === names.endToEnd),
    ]
  }
}

const creditBookingKeys = ({ bank }: CreditReferences): readonly string[] => (bank === null ? [] : [`r:${bank}|+`])

export type Reversal = Pick<Unit, 'amount' | 'remittance' | 'information'> & {
  readonly entryId: string
  readonly currency: Currency
  readonly names: CreditReferences
}

/** Matches a reversal with its credit, and adds the credit to `takenBack`. Undefined: the credit is unknown. */
export function matchReversedCredit(
  { entryId, currency, amount, names, remittance, information }: Reversal,
  { originals, takenBack }: { readonly originals: FindOriginals; readonly takenBack: Set<string> },
  partnerId: string,
) {
  const found = originals(names).find(
    (credit) => credit.amount === -amount && !credit.isReversed && !takenBack.has(credit.id),
  )
  if (found === undefined) return undefined
  takenBack.add(found.id)
  const details = ['The bank has cancelled its booking of the credit.', information, remittance]
    .filter((part) => part !== null && part !== '')
    .join(' ')
  const facts = { money: { currency, amount: absolute(amount) }, details }
  // Simultaneous reports are delivered in the order of their ids: a new id sorts after that of the credit.
  const report: Report = { partnerId, id: newId(), subjectId: found.id, entryId, kind: 'credit.reversed', facts }
  return {
    kind: 'reversal' as const,
    subject: { partnerId, id: found.id },
    score: 95,
    matchedBy: formatMatch([found.booking === null ? 'endToEnd' : 'bankReference', 'amount']),
    reports: [report],
  }
}

const rowsPerRound = 1000

/** Matches waiting reversals with credits that have arrived since. */
export function matchWaitingReversals({ rules, operatorId, clock }: BankDeps, lease: Lease): Promise<number> {
  return lease.transaction(async (tx) => {
    const rows = await entries.waitingReversals(tx, operatorId, rules.id, rowsPerRound)
    const reports: Report[] = []
    for (const own of Map.groupBy(rows, ({ account, currency }) => `${account} ${currency}`).values()) {
      const matched = await matchAccountReversals(tx, { operatorId, connector: rules.id }, own)
      reports.push(...matched)
    }
    if (reports.length > 0) writeReports(tx, rules.id, reports, clock.now())
    return reports.length
  })
}

async function matchAccountReversals(
  tx: Tx,
  of: Pick<entries.AccountKey, 'operatorId' | 'connector'>,
  rows: readonly entries.WaitingReversal[],
): Promise<readonly Report[]> {
  const [first] = rows
  if (first === undefined) return []
  const { account, currency } = first
  const waiting = rows.map((row) => {
    const { bank, endToEnd, information } = ownJson<CreditReferences & Pick<Unit, 'information'>>(row.refs)
    return { row, names: { bank, endToEnd }, information }
  })
  const names = waiting.map((one) => one.names)
  const originals = await readOriginals(tx, { ...of, account, currency }, names)
  const world = { originals, takenBack: new Set<string>() }
  const made = waiting.flatMap(({ row, ...said }) => {
    const reversal = { ...row, ...said, entryId: row.id, currency: row.currency as Currency }
    const match = matchReversedCredit(reversal, world, of.operatorId)
    return match === undefined ? [] : { row, match }
  })
  if (made.length > 0)
    entries.replaceWaiting(
      tx,
      of.operatorId,
      made.map(({ row, match: { kind, score, matchedBy, subject } }) => ({
        ...row,
        kind,
        score,
        matchedBy,
        subjectId: subject.id,
        subjectPartnerId: subject.partnerId,
      })),
    )
  return made.flatMap(({ match }) => match.reports)
}
