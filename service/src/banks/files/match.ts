/** Matches bookings with payments, returns, fees and credits, and creates the reports to settlement. */
import { deriveTimeId, partnerKey, type Money, type RowKey } from '../../kernel/index.ts'
import { explainReason } from '../../iso20022/index.ts'
import { joinBankTexts, type DebitReason } from '../../rails/index.ts'
import { toDebtor, type Unit } from './units.ts'
import { isOwnEndToEndId, formatPaymentLabel, parseInstructionId } from './ids.ts'
import { oddityReport, type Report, settledReportId } from './reports.ts'
import { absolute } from './accounts.ts'
import {
  amountDifference,
  formatMatch,
  type ScoredPayment,
  automaticScoreMin,
  findReferencedPayment,
} from './scores.ts'
import { type FindOriginals, readOriginals, matchReversedCredit } from './reversals.ts'
import * as entries from './store-entries.ts'
import { groupByShard, type Tx } from '../../postgres/index.ts'
import * as words from './store-incoming.ts'

export type BookedUnit = { readonly unit: Unit; readonly entryId: string }
export type Match = {
  readonly kind: entries.EntryKind
  readonly subject: RowKey | null
  readonly score: number
  readonly matchedBy: string
  readonly reports: readonly Report[]
  /** Earlier reports that this entry confirms. */
  readonly ties?: readonly RowKey[]
  /** A person decides, with a list of the open payments that the entry may belong to. */
  readonly isUnexplained?: true
}
export type MatchContext = {
  readonly candidates: MatchCandidates
  readonly connector: string
  readonly operatorId: string
  readonly now: Date
}

export const unitMoney = ({ account: { currency }, amount }: Unit): Money => ({ currency, amount: absolute(amount) })

const joinTexts = (text: string, { information, remittance }: Pick<Unit, 'information' | 'remittance'>): string =>
  [text, information, remittance].filter((part) => part !== null && part !== '').join(' ')

export function matchUnit(context: MatchContext, placed: BookedUnit): Match {
  const { unit } = placed
  const best = findReferencedPayment(unit, context.candidates.named(unit))
  return unit.amount < 0n ? matchDebit(context, placed, best) : matchCredit(context, placed, best)
}

function matchDebit(context: MatchContext, placed: BookedUnit, best: ScoredPayment | undefined): Match {
  const { unit } = placed
  if (unit.isReversal) return matchReversal(context, placed)
  const isCharged = unit.isFee && best?.sent.amount !== -unit.amount
  if (isCharged) return debitMatch(context, placed, 'bank_fee', joinTexts('Charges of the bank.', unit))
  if (best !== undefined && best.score >= automaticScoreMin) return matchPayment(context, placed, best)
  if (unit.isSum) return matchBatch(context, placed)
  return {
    ...debitMatch(context, placed, 'unknown_debit', joinTexts('No payment of ours matches this debit.', unit)),
    isUnexplained: true,
  }
}

function debitMatch(
  { operatorId }: MatchContext,
  { unit, entryId }: BookedUnit,
  why: DebitReason,
  details: string,
  of: RowKey | null = null,
): Match {
  const facts = { why, account: unit.account.iban, money: unitMoney(unit), details }
  const partnerId = of?.partnerId ?? operatorId
  return {
    kind: why === 'bank_fee' ? 'fee' : 'unknown',
    subject: of,
    score: why === 'bank_fee' ? 90 : 0,
    matchedBy: formatMatch(why === 'bank_fee' ? ['codes'] : []),
    reports: [{ partnerId, id: entryId, subjectId: entryId, entryId, kind: 'debit.booked', facts }],
  }
}

function matchPayment(context: MatchContext, placed: BookedUnit, { sent, score, agreed }: ScoredPayment): Match {
  const { unit, entryId } = placed
  const payment = sent as Payment
  const subject = { partnerId: payment.partnerId, id: payment.id }
  if (payment.entryId !== null) {
    const details = joinTexts(`The bank has booked the payment ${formatPaymentLabel(payment)} again.`, unit)
    return { ...debitMatch(context, placed, 'doubled', details, subject), score, matchedBy: formatMatch(agreed) }
  }
  const differs = amountDifference(-unit.amount, payment.amount, payment.currency)
  const elsewhere = accountDifference(unit, payment)
  const match = { kind: 'payout' as const, subject, score, matchedBy: formatMatch(agreed, [...differs, ...elsewhere]) }
  const settled = settle(context, payment, { entryId, reportId: entryId, unit })
  if (elsewhere.length === 0) return { ...match, ...settled }
  const text = `The bank reports that the payment ${formatPaymentLabel(payment)} went to another account than instructed (${elsewhere.join()}).`
  return {
    ...match,
    ...settled,
    reports: [...settled.reports, oddityReport(context, 'entry_unclear', text, ['account', entryId])],
  }
}

const ibanForm = /^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/

/** Describes the difference if the bank names another payee account by its IBAN. */
function accountDifference({ counterparty: { account } }: Unit, { creditorAccount }: Payment): readonly string[] {
  return account === null || !ibanForm.test(account) || account === creditorAccount
    ? []
    : [`account: ${account} instead of ${creditorAccount}`]
}

/** Books the payment. If its settlement was already reported, only a difference in the amount is reported. */
function settle(
  context: MatchContext,
  payment: Payment,
  { entryId, reportId, unit }: { readonly entryId: string; readonly reportId: string; readonly unit: Unit | null },
): Pick<Match, 'reports' | 'ties'> {
  const { candidates, connector, now } = context
  const { partnerId, id: subjectId, amount, currency } = payment
  const isTold = payment.settledAt !== null || payment.status === 'Returned'
  const paid = unit === null ? amount : -unit.amount
  payment.entryId = entryId
  if (!isTold) payment.settledAt = now
  if (payment.status !== 'Returned' && payment.status !== 'Rejected' && payment.status !== 'Refused')
    payment.status = 'Settled'
  candidates.changed.set(partnerKey(partnerId, subjectId), payment)
  if (!isTold) {
    const facts = { money: { currency, amount: paid } }
    return { reports: [{ partnerId, id: reportId, subjectId, entryId, kind: 'payout.settled', facts }] }
  }
  if (paid === amount) return { reports: [], ties: [{ partnerId, id: settledReportId(connector, payment) }] }
  return { reports: [differenceReport(context, { entryId, unit, more: paid - amount, payment })] }
}

/** Reports that the bank booked another amount than the one with which the payment was settled. */
function differenceReport(
  { operatorId }: MatchContext,
  {
    entryId,
    unit,
    more,
    payment,
  }: { readonly entryId: string; readonly unit: Unit | null; readonly more: bigint; readonly payment: Payment },
): Report {
  const id = deriveTimeId(entryId, 'difference')
  const { currency } = payment
  const details = `The bank has booked the payment ${formatPaymentLabel(payment)} with another amount than it reported before.`
  const account = unit?.account.iban ?? ''
  const origin = { id, subjectId: entryId, entryId }
  const money = { currency, amount: absolute(more) }
  if (more > 0n)
    return {
      ...origin,
      partnerId: payment.partnerId,
      kind: 'debit.booked',
      facts: { why: 'unknown_debit', account, money, details },
    }
  const debtor = { account: '', bic: '', name: '', countryCode: '', address: null }
  const creditMatch = { account, money, debtor, remittance: details, endToEndId: null, creditorReferences: [] }
  return { ...origin, partnerId: operatorId, kind: 'credit.booked', facts: creditMatch }
}

/** Matches a sum with all payments of its batch that are neither booked nor rejected. */
function matchBatch(context: MatchContext, placed: BookedUnit): Match {
  const { unit, entryId } = placed
  const open = context.candidates
    .batched(unit)
    .filter(
      ({ entryId: booked, status, currency }) =>
        booked === null && status !== 'Rejected' && status !== 'Refused' && currency === unit.account.currency,
    )
  const sum = open.reduce((before, { amount }) => before + amount, 0n)
  if (open.length === 0 || sum !== -unit.amount) return waitingForPayments(unit)
  const settled = open.map((payment) =>
    settle(context, payment, { entryId, reportId: deriveTimeId(entryId, payment.id), unit: null }),
  )
  return {
    kind: 'payout',
    subject: null,
    score: 90,
    matchedBy: formatMatch(['batch', 'sum']),
    reports: settled.flatMap(({ reports }) => reports),
    ties: settled.flatMap(({ ties = [] }) => ties),
  }
}

const waitingMatch = (differs: readonly string[]): Match => ({
  kind: 'waiting',
  subject: null,
  score: 0,
  matchedBy: formatMatch([], differs),
  reports: [],
})

const waitingForPayments = ({ payments }: Unit): Match =>
  waitingMatch([`the message does not list the ${payments === 1 ? 'payment' : `${payments} payments`}`])

/** Matches the reversal of a credit. The message with the credit may arrive later. */
function matchReversal(context: MatchContext, placed: BookedUnit): Match {
  const { candidates, operatorId } = context
  const { unit, entryId } = placed
  const { account, references, amount, remittance, information } = unit
  const reversal = { entryId, currency: account.currency, amount, names: references, remittance, information }
  const match = matchReversedCredit(reversal, candidates, operatorId)
  if (match !== undefined) return match
  if (references.bank !== null || references.endToEnd !== null) return waitingMatch(['no known credit matches it'])
  return debitMatch(context, placed, 'unknown_debit', joinTexts('The bank reversed a credit without naming it.', unit))
}

function matchCredit(context: MatchContext, placed: BookedUnit, best: ScoredPayment | undefined): Match {
  const { unit } = placed
  if (best !== undefined && best.score >= automaticScoreMin && isReturnOf(unit, best))
    return matchReturn(context, placed, best)
  if (unit.isSum) return waitingForPayments(unit)
  return credit(context, placed, unit.isReturn || unit.isReversal)
}

/**
 * Reports whether a credit is the return of a payment. A payer may write any end-to-end id: unless the bank calls it a
 * return, the id must be ours, and amount and account must match.
 */
function isReturnOf({ isReturn, isReversal, amount, counterparty }: Unit, { sent, agreed }: ScoredPayment): boolean {
  if (isReturn || isReversal || agreed.includes('instruction')) return true
  return isOwnEndToEndId(sent) && amount === sent.amount && counterparty.account === sent.creditorAccount
}

function matchReturn(context: MatchContext, placed: BookedUnit, { sent, score, agreed }: ScoredPayment): Match {
  const { unit, entryId } = placed
  const { candidates } = context
  const payment = sent as Payment
  const { partnerId, id: subjectId } = payment
  const doubled = unit.isReversal
    ? candidates.doubled(payment).find(({ id, isReversed }) => !isReversed && !candidates.takenBack.has(id))
    : undefined
  if (doubled !== undefined) {
    candidates.takenBack.add(doubled.id)
    const subject = { partnerId: context.operatorId, id: doubled.id }
    return { ...credit(context, placed, true), kind: 'reversal', subject, score, matchedBy: formatMatch(agreed) }
  }
  // A payment is returned once. The owner of a second return is unknown.
  if (payment.status === 'Returned') return credit(context, placed, true)
  if (payment.status !== 'Rejected' && payment.status !== 'Refused') payment.status = 'Returned'
  candidates.changed.set(partnerKey(partnerId, subjectId), payment)
  const facts = { ...readFailure(unit), money: unitMoney(unit) }
  return {
    kind: 'return',
    subject: { partnerId, id: subjectId },
    score,
    matchedBy: formatMatch(agreed, amountDifference(unit.amount, payment.amount, payment.currency)),
    reports: [{ partnerId, id: entryId, subjectId, entryId, kind: 'payout.returned', facts }],
  }
}

function readFailure({ returned, isReversal }: Unit) {
  const reasonCode = returned?.code ?? null
  const bankText = returned === null ? null : joinBankTexts([returned.text])
  if (reasonCode === null) {
    const details = isReversal ? 'The bank cancelled the payment.' : 'The bank returned the payment.'
    return { errorKey: 'BankRejection', details, reasonCode, bankText } as const
  }
  const { errorKey, details } = explainReason(reasonCode)
  return { errorKey, details, reasonCode, bankText }
}

/** Matches a credit. `isForPeople`: people choose the owner of the money; its texts must not decide it. */
function credit({ operatorId }: MatchContext, { unit, entryId }: BookedUnit, isForPeople: boolean): Match {
  const { account, creditedAccount, counterparty, references, remittance, creditorReferences } = unit
  const isNamed = creditedAccount !== account.iban
  const facts = {
    account: isForPeople ? account.iban : creditedAccount,
    money: unitMoney(unit),
    debtor: toDebtor(counterparty),
    remittance: isForPeople ? null : remittance,
    endToEndId: references.endToEnd,
    creditorReferences: isForPeople ? [] : creditorReferences,
  }
  return {
    kind: isForPeople ? 'unknown' : 'credit',
    subject: null,
    score: isForPeople ? 0 : isNamed ? 100 : 50,
    matchedBy: formatMatch(isForPeople ? [] : [isNamed ? 'creditorAccount' : 'account']),
    reports: [{ partnerId: operatorId, id: entryId, subjectId: entryId, entryId, kind: 'credit.booked', facts }],
  }
}

/**
 * Keeps the money in suspense until two people decide, if the booking may be an entry that another message has reported.
 * A booking that names our payment, or the credit that it reverses, is certain.
 */
export function suspendIfDoubtful(
  { operatorId }: MatchContext,
  { unit, entryId }: BookedUnit,
  match: Match,
  doubt: { readonly id: string; readonly bookedOn: string } | undefined,
): Match {
  const isUnnamed = match.subject === null && ['credit', 'unknown', 'fee'].includes(match.kind)
  if (doubt === undefined || !isUnnamed) return match
  const account = unit.account.iban
  const details = joinTexts(
    `It may be the entry ${doubt.id} of ${doubt.bookedOn}, which another message has reported and which already counts.`,
    { information: unit.information, remittance: null },
  )
  const facts = {
    account,
    money: unitMoney(unit),
    debtor: toDebtor(unit.counterparty),
    endToEndId: unit.references.endToEnd,
  }
  const named = { partnerId: operatorId, id: entryId, subjectId: entryId, entryId }
  const report: Report =
    unit.amount < 0n
      ? { ...named, kind: 'debit.booked', facts: { why: 'unknown_debit', account, money: facts.money, details } }
      : { ...named, kind: 'credit.booked', facts: { ...facts, remittance: details, creditorReferences: [] } }
  const subject = { partnerId: operatorId, id: doubt.id }
  return { kind: 'unknown', subject, score: 0, matchedBy: formatMatch(['amount'], ['announced']), reports: [report] }
}

// Reads and locks the instructions and entries that the bookings of a page may match.

/** A mutable copy: the match of a booking changes the state with which the next booking of the page is matched. */
type Payment = { -readonly [K in keyof words.SentPayment]: words.SentPayment[K] }

export type MatchCandidates = {
  /** Payments with the booking's InstrId, or else with its end-to-end id. */
  readonly named: (unit: Unit) => readonly Payment[]
  /** Payments of the batches and messages that a sum names. */
  readonly batched: (unit: Unit) => readonly Payment[]
  readonly originals: FindOriginals
  /** The debits of an instruction after the first one. */
  readonly doubled: (payment: Payment) => readonly { readonly id: string; readonly isReversed: boolean }[]
  readonly changed: Map<string, Payment>
  /** Ids of credits and repeated debits that this page reverses. */
  readonly takenBack: Set<string>
}

const unitReferences = ({ references: { instruction, endToEnd } }: Unit): words.PaymentReferences => ({
  id: instruction === null ? undefined : parseInstructionId(instruction)?.id,
  endToEndId: endToEnd,
})

export async function readCandidates(tx: Tx, of: entries.AccountKey, units: readonly Unit[]): Promise<MatchCandidates> {
  const { connector, operatorId } = of
  const sums = units.filter(({ isSum, amount }) => isSum && amount < 0n)
  const [referenced, inBatches] = await Promise.all([
    words.sentPaymentsByReferences(tx, connector, units.map(unitReferences)),
    readBatches(tx, connector, sums),
  ])
  const payments = await lockPayments(tx, connector, [...referenced, ...inBatches.sent])
  const reversals = units.filter(isCreditReversal).map(({ references }) => references)
  const originals = await readOriginals(tx, of, reversals)
  const takenBackOf = await readDoubledDebits(tx, operatorId, units, payments)
  const byId = Map.groupBy(payments, ({ id }) => id)
  const byEndToEnd = Map.groupBy(payments, ({ endToEndId }) => endToEndId)
  const byBatch = Map.groupBy(payments, ({ batchId }) => batchId)
  const byFile = Map.groupBy(payments, ({ fileId }) => fileId)
  const fileOf = (messageId: string) => inBatches.files.find((file) => file.messageId === messageId)?.id ?? ''
  return {
    named: (unit) => {
      const { id = '', endToEndId } = unitReferences(unit)
      return byId.get(id) ?? byEndToEnd.get(endToEndId ?? '') ?? []
    },
    batched: ({ references: { batches, messages } }) =>
      batches.length > 0
        ? batches.flatMap((id) => byBatch.get(id) ?? [])
        : messages.flatMap((id) => byFile.get(fileOf(id)) ?? []),
    originals,
    doubled: ({ id }) => takenBackOf.get(id) ?? [],
    changed: new Map(),
    takenBack: new Set(),
  }
}

type Batches = { readonly sent: readonly words.SentPayment[]; readonly files: readonly words.OurFile[] }

/** Reads the payments of sums. A bank names the batch (PmtInfId), or only the message. */
async function readBatches(tx: Tx, connector: string, sums: readonly Unit[]): Promise<Batches> {
  const batchIds = new Set(sums.flatMap(({ references: { batches } }) => batches))
  const messageIds = sums.flatMap(({ references: { batches, messages } }) => (batches.length > 0 ? [] : messages))
  const files = messageIds.length === 0 ? [] : await words.filesByMessageIds(tx, connector, messageIds)
  const [ofBatches, ofFiles] = await Promise.all([
    batchIds.size === 0 ? [] : words.sentPaymentsByBatches(tx, connector, [...batchIds]),
    files.length === 0
      ? []
      : words.sentPaymentsByFiles(
          tx,
          connector,
          files.map(({ id }) => id),
        ),
  ])
  return { sent: [...ofBatches, ...ofFiles], files }
}

async function lockPayments(
  tx: Tx,
  connector: string,
  found: readonly words.SentPayment[],
): Promise<readonly Payment[]> {
  const once = [...new Map(found.map((sent) => [partnerKey(sent.partnerId, sent.id), sent])).values()]
  const locked: Payment[] = []
  for (const group of groupByShard(tx, once)) {
    const rows = await words.lockSentPayments(tx, connector, group)
    locked.push(...rows.map((row) => ({ ...row })))
  }
  return locked
}

const isCreditReversal = ({ isReversal, amount }: Unit): boolean => isReversal && amount < 0n

async function readDoubledDebits(
  tx: Tx,
  operatorId: string,
  units: readonly Unit[],
  payments: readonly Payment[],
): Promise<ReadonlyMap<string, readonly { readonly id: string; readonly isReversed: boolean }[]>> {
  const isAny = units.some(({ isReversal, amount }) => isReversal && amount > 0n)
  if (!isAny || payments.length === 0) return new Map()
  const ids = payments.map(({ id }) => id)
  return Map.groupBy(await entries.repeatedDebits(tx, operatorId, ids), ({ subjectId }) => subjectId)
}
