/** Reports overdue messages: the payments of a sum, the credit of a reversal, and the bank's report about a payment. */
import { minuteMs, secondMs } from '../../kernel/index.ts'
import type { Currency } from '../../kernel/index.ts'
import type { BankDeps } from './deps.ts'
import { paymentName } from './ids.ts'
import type { Lease } from './lease.ts'
import { oddity, type Report, writeReports } from './reports.ts'
import { matchWaitingReversals } from './reversals.ts'
import { absolute } from './accounts.ts'
import { matchText } from './scores.ts'
import { byShard } from './shards.ts'
import { endWaiting, overdueWaiting, type Waiting } from './store-entries.ts'
import { markMissing, silentSince } from './store-words.ts'

const rowsPerPage = 1000
/** A look at unfinished payments reads past those that are missing already. */
const looksEveryMs = minuteMs

export function createOverdue(deps: BankDeps) {
  const { db, clock, rules } = deps
  let lookedAtMs = Number.NEGATIVE_INFINITY
  return async (lease: Lease): Promise<number> => {
    const now = clock.now()
    let done = await matchWaitingReversals(deps, lease)
    done += await endOverdue(deps, lease, new Date(now.getTime() - rules.detailsWithinMs))
    if (Math.abs(now.getTime() - lookedAtMs) < looksEveryMs) return done
    const before = new Date(now.getTime() - rules.missingAfterMs)
    const silent = await silentSince(db, rules.id, before, rowsPerPage)
    if (silent.length < rowsPerPage) lookedAtMs = now.getTime()
    if (silent.length > 0) done += await tellMissing(deps, lease, silent, before)
    return done
  }
}

function endOverdue({ rules, operatorId, clock }: BankDeps, lease: Lease, before: Date): Promise<number> {
  return lease.transaction(async (tx) => {
    const rows = await overdueWaiting(tx, operatorId, rules.id, before, rowsPerPage)
    if (rows.length === 0) return 0
    const within = `within ${rules.detailsWithinMs / secondMs} seconds`
    const [reversals, sums] = [rows.filter(isTakingBack), rows.filter((row) => !isTakingBack(row))]
    for (const [ended, missed] of [
      [reversals, `no message named the credit ${within}`],
      [sums, `no message named the payments ${within}`],
    ] as const)
      if (ended.length > 0)
        endWaiting(
          tx,
          operatorId,
          ended.map(({ id }) => id),
          matchText([], [missed]),
        )
    writeReports(
      tx,
      rules.id,
      rows.map((row) => toReport(row, operatorId)),
      clock.now(),
    )
    return rows.length
  })
}

const isTakingBack = ({ isReversal, amount }: Waiting): boolean => isReversal && amount < 0n

/** The money is in the account, and its owner is unknown: it goes to suspense with a case. */
function toReport(row: Waiting, operatorId: string): Report {
  const { id, account, currency, amount } = row
  const named = { partnerId: operatorId, id, subjectId: id, entryId: id }
  const money = { currency: currency as Currency, amount: absolute(amount) }
  const details = isTakingBack(row) ? 'The bank reversed an unknown credit.' : unnamed(row)
  if (amount < 0n) return { ...named, kind: 'debit.booked', facts: { why: 'unknown_debit', account, money, details } }
  const debtor = { account: '', bic: '', name: '', countryCode: '', address: null }
  const facts = { account, money, debtor, remittance: details, endToEndId: null, creditorReferences: [] }
  return { ...named, kind: 'credit.booked', facts }
}

function unnamed({ payments, codes, bookedOn }: Waiting): string {
  const of = payments === 1n ? 'a booking' : `a sum of ${payments} payments`
  return `No message has named what is in ${of} of ${bookedOn}${codes === '' ? '' : ` (${codes})`}.`
}

function tellMissing(
  { rules, operatorId, clock }: BankDeps,
  lease: Lease,
  silent: Awaited<ReturnType<typeof silentSince>>,
  before: Date,
): Promise<number> {
  return lease.transaction(async (tx) => {
    const now = clock.now()
    const of = { operatorId, connector: rules.id }
    const named = new Map(silent.map((sent) => [sent.id, sent]))
    let marked = 0
    for (const group of byShard(tx, silent)) {
      const keys = await markMissing(tx, rules.id, group, before, now)
      marked += keys.length
      const reports = keys.map(({ partnerId, id }): Report => {
        const sent = named.get(id)
        const text = `The bank has said nothing about the payment ${sent === undefined ? id : paymentName(sent)} for ${Math.round(rules.missingAfterMs / minuteMs)} minutes.`
        return { ...oddity(of, 'payment_missing', text, [id, String(sent?.attempt ?? 1)], id), partnerId }
      })
      if (reports.length > 0) writeReports(tx, rules.id, reports, now)
    }
    return marked
  })
}
