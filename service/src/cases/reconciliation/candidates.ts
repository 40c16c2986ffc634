/**
 * Finds candidates for the money of a case: payments that the connector has submitted, waiting deposits, owners of
 * accounts.
 */
import { type CaseReport, type CaseRow, reportOf } from '../index.ts'
import type { Minor } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { BankInstruction, BankBooks } from '../../rails/index.ts'
import { type Candidate, type Money, type Scored, scored } from './score.ts'

/** Sources of candidates in the modules. */
export type CandidateSources = {
  /**
   * Candidates for incoming money: the credited account, and deposits that a reference names or that wait for this
   * amount at the partner of the case.
   */
  readonly incoming: (tx: Tx, money: Money, credited: string, partnerId: string) => Promise<readonly Candidate[]>
  /** Payouts of the partner of the case with this amount. */
  readonly outgoing: (tx: Tx, money: Money, partnerId: string) => Promise<readonly Candidate[]>
}

const shownMax = 20

export async function candidatesFor(
  books: Pick<BankBooks, 'instructionsLike'>,
  sources: CandidateSources,
  tx: Tx,
  found: CaseRow,
): Promise<readonly Scored[]> {
  const { booked, currency, connector, partnerId } = found
  if (booked === null || currency === null) return []
  const report = reportOf(found)
  const money = moneyOf(found, { currency, amount: booked < 0n ? -booked : booked }, report)
  const ids = [...new Set(money.texts.flatMap((text) => text.match(/[0-9a-f]{32}/gi) ?? []))]
  const carried = await books.instructionsLike(
    tx,
    { connector, currency },
    money.amount,
    ids.map((id) => id.toLowerCase()),
  )
  const all = [
    ...carried.map(toCandidate),
    ...(await sources.outgoing(tx, money, partnerId)),
    ...(booked > 0n ? await sources.incoming(tx, money, report.account ?? '', partnerId) : []),
  ]
  const once = new Map(all.map((candidate) => [`${candidate.kind} ${candidate.id}`, candidate]))
  return scored(money, [...once.values()]).slice(0, shownMax)
}

function moneyOf(
  { openedAt, subject }: CaseRow,
  { currency, amount }: { readonly currency: Money['currency']; readonly amount: Minor },
  { debtor, remittance, endToEndId, details, creditorReferences = [] }: CaseReport,
): Money {
  const said = [subject, remittance ?? '', endToEndId ?? '', details ?? '', ...creditorReferences.flat()]
  const texts = said.filter((text) => text !== '')
  return { currency, amount, account: debtor?.account ?? '', name: debtor?.name ?? '', texts, on: openedAt }
}

const toCandidate = (row: BankInstruction): Candidate => ({
  kind: 'payout',
  partnerId: row.partnerId,
  id: row.id,
  status: row.status,
  currency: row.currency,
  amount: row.amount,
  account: row.creditorAccount,
  name: row.creditorName,
  references: [row.endToEndId, row.id.replaceAll('-', ''), ...(row.remittance === null ? [] : [row.remittance])],
  on: row.settledAt ?? row.createdAt,
})
