/**
 * Parts: the credits of a deposit that is paid in parts. Each has its own entry to the account `parts`, where it waits
 * for the rest. The part that completes the sum moves all of them to the balance in its transaction. A surplus, and the
 * parts of a deposit that ends before it is paid in full, go to suspense, each with a case.
 */
import type { CaseReport, NewCase } from '../cases/index.ts'
import { assert, type Minor, newId, partnerKey, present, type RowKey, type Money } from '../kernel/index.ts'
import { type AccountName, type Entry, singleEntry } from '../ledger/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { IncomingDebtor } from '../rails/index.ts'
import { checkout, ownJson } from '@partner-payments/wire'
import type { BlockReason } from './inbound.ts'
import { awaitingParts, type DepositStatus, type DepositTrigger } from './lifecycle.ts'
import type { Deposit } from './store.ts'
import { type Part, type PartStatusChange, readParts, type PartStatus } from './store-parts.ts'

/** Deposit under its lock. `parts` is empty if one payment pays the deposit. */
export type DepositWithParts = Deposit & { readonly parts: readonly Part[] }

/** Payer of a part and texts of the payment: for screening, for its refund and for its case. */
export type PartReport = Pick<CaseReport, 'account' | 'remittance' | 'endToEndId'> & { readonly debtor: IncomingDebtor }

export const parsePartReport = ({ report }: Pick<Part, 'report'>): PartReport | undefined =>
  report === null ? undefined : ownJson<PartReport>(report)

const sumParts = (parts: readonly Pick<Part, 'amount' | 'status'>[], ...statuses: readonly PartStatus[]): Minor =>
  parts.reduce((sum, { amount, status }) => (statuses.includes(status) ? sum + amount : sum), 0n)

/** Sums the parts that count. A part under review does not count, so that a listed person is not warned. */
export const paidIn = (parts: readonly Pick<Part, 'amount' | 'status'>[]): Minor => sumParts(parts, 'Held', 'Credited')

const missingAmount = ({ amount, parts }: DepositWithParts): Minor =>
  amount - sumParts(parts, 'Held', 'Screening', 'Credited')

/** Reports whether all the money has arrived, including parts under review. */
export const isFullyPaid = (deposit: DepositWithParts): boolean => missingAmount(deposit) === 0n

/** Adds the parts to each deposit that is paid in parts. */
export async function withParts<Row extends Deposit>(
  tx: Tx,
  rows: readonly Row[],
): Promise<readonly (Row & DepositWithParts)[]> {
  const found = await readParts(
    tx,
    rows.filter(({ inParts }) => inParts),
  )
  const byDeposit = Map.groupBy(found, ({ partnerId, depositId }) => partnerKey(partnerId, depositId))
  return rows.map((row) => ({ ...row, parts: byDeposit.get(partnerKey(row.partnerId, row.id)) ?? [] }))
}

type PartTrigger = Extract<DepositTrigger, { readonly kind: 'credit' | 'deposit.settled' }>

/**
 * Returns the trigger if it reports the money of a part. A bank report does so only after the bank has named the payer.
 */
export const partTrigger = ({ inParts, debtor }: Deposit, trigger: DepositTrigger): PartTrigger | undefined =>
  inParts && (trigger.kind === 'credit' || (trigger.kind === 'deposit.settled' && debtor !== null))
    ? trigger
    : undefined

const creditIdOf = (trigger: PartTrigger): string => (trigger.kind === 'credit' ? trigger.creditId : trigger.id)

const moneyOf = (deposit: DepositWithParts, { money }: PartTrigger): Money =>
  money ?? { currency: deposit.currency, amount: missingAmount(deposit) }

/** Reports whether the bank repeats a credit that is already recorded as a part. */
export const isKnownPart = ({ parts }: DepositWithParts, trigger: DepositTrigger): boolean =>
  (trigger.kind === 'credit' || trigger.kind === 'deposit.settled') &&
  parts.some((part) => part.connector === trigger.connector && part.creditId === creditIdOf(trigger))

const isAwaiting = (status: DepositStatus): boolean => (awaitingParts as readonly DepositStatus[]).includes(status)

/**
 * Reports whether money does not belong to the deposit: it has another currency, exceeds the amount or the number of
 * parts, or arrived after the deposit ended.
 */
export const isForeignPart = (deposit: DepositWithParts, trigger: PartTrigger | undefined): boolean =>
  trigger !== undefined &&
  (moneyOf(deposit, trigger).currency !== deposit.currency ||
    missingAmount(deposit) <= 0n ||
    deposit.parts.length >= checkout.checkoutPartsMax ||
    !(isAwaiting(deposit.status) || deposit.status === 'Screening'))

/** Chooses the trigger for a part. A hold precedes a block: while a name is under review, every part waits for the same decision. */
export function partTriggerKind(deposit: DepositWithParts, trigger: PartTrigger, isHeld: boolean, isBlocked: boolean) {
  if (isHeld || deposit.status === 'Screening') return 'part-held'
  if (isBlocked) return 'part-refused'
  return moneyOf(deposit, trigger).amount < missingAmount(deposit) ? 'part' : 'part-last'
}

/** The rows, entries and cases that a transition writes for the parts of a deposit. */
export type PartsPlan = {
  readonly added: readonly Part[]
  readonly moved: readonly PartStatusChange[]
  readonly entries: readonly Entry[]
  readonly cases: readonly NewCase[]
  /** Cases that end because their money leaves suspense. */
  readonly released: readonly RowKey[]
  /** Parts with an event, and the sum that counts afterwards. */
  readonly told: readonly Part[]
  readonly paid: Minor
}

type PartsMove = { readonly name: string; readonly row: DepositWithParts; readonly trigger: DepositTrigger }

const nothing = { added: [], moved: [], entries: [], cases: [], released: [], told: [] }

/** Kind of the case of held money. `isListed`: a name, an account or a country is on a list, or may be. */
type MoneyHold = { readonly kind: NewCase['kind']; readonly isListed: boolean }

export function planParts(
  { name, row, trigger }: PartsMove,
  block: BlockReason | undefined,
  now: Date,
  hold: MoneyHold,
): PartsPlan {
  const plan = planMove(name, row, trigger, block, now, hold)
  const statuses = new Map((plan.moved ?? []).map(({ id, status }) => [id, status]))
  const after = [
    ...row.parts.map((part) => ({ ...part, status: statuses.get(part.id) ?? part.status })),
    ...(plan.added ?? []),
  ]
  return { ...nothing, ...plan, paid: paidIn(after) }
}

function planMove(
  name: string,
  row: DepositWithParts,
  trigger: DepositTrigger,
  block: BlockReason | undefined,
  now: Date,
  hold: MoneyHold,
): Partial<PartsPlan> {
  const of = (status: PartStatus) => row.parts.filter((part) => part.status === status)
  const [held, reviewed] = [of('Held'), of('Screening')]
  const released = reviewed.map(({ partnerId, id }) => ({ partnerId, id }))
  if (name === 'release' || name === 'resume') {
    const isPaid = name === 'release'
    const status = isPaid ? 'Credited' : 'Held'
    const moved = [...reviewed, ...(isPaid ? held : [])].map((part) => ({ ...part, status }) as const)
    const entries = [
      ...depositEntries(row, 'suspense', isPaid ? 'balance' : 'parts', sumParts(reviewed, 'Screening')),
      ...(isPaid ? depositEntries(row, 'parts', 'balance', sumParts(held, 'Held')) : []),
    ]
    return { moved, entries, released, told: reviewed.map((part) => ({ ...part, status })) }
  }
  if (name === 'freeze') {
    const left = planSuspension(row, held, hold.kind)
    return { ...left, moved: [...left.moved, ...reviewed.map((part) => ({ ...part, status: 'Suspended' }) as const)] }
  }
  if (name === 'expire') return planSuspension(row, held, 'amount_differs')
  const paying = partTrigger(row, trigger)
  return paying === undefined ? {} : planArrival(name, row, paying, block, now, hold)
}

/** Plans the arrival of a part: it waits for the rest, completes the sum, waits for a decision about a name, or is refused. */
function planArrival(
  name: string,
  row: DepositWithParts,
  trigger: PartTrigger,
  block: BlockReason | undefined,
  now: Date,
  hold: MoneyHold,
): Partial<PartsPlan> {
  const { partnerId, id: depositId, currency } = row
  const { connector, id: notificationId } = trigger
  const money = moneyOf(row, trigger)
  const missing = missingAmount(row)
  const amount = money.amount < missing ? money.amount : missing
  const debtor =
    trigger.kind === 'credit'
      ? trigger.debtor
      : ownJson<IncomingDebtor>(present(row.debtor, `no payer on deposit ${depositId}`))
  const origin = trigger.kind === 'credit' ? trigger.origin : { endToEndId: row.endToEndId }
  const report = { ...origin, debtor }
  const partOf = (status: PartStatus): Part => ({
    ...{ partnerId, id: newId(), depositId, connector, creditId: creditIdOf(trigger), notificationId },
    ...{ amount, status, report: JSON.stringify(report), receivedAt: now, reversedAt: null, reversedBy: null },
  })
  const opened = { partnerId, connector, notificationId, subject: depositId } as const
  const told = toCaseReport(row, creditIdOf(trigger), report)
  const rest = { currency, amount: money.amount - amount }
  // Under its own id, because the credit may already have a case of a hold. Only the operator decides about money of a
  // name under review.
  const surplus: readonly NewCase[] =
    rest.amount === 0n
      ? []
      : [
          {
            ...opened,
            id: newId(),
            notificationId: `${notificationId} surplus`,
            kind: name === 'holdPart' && hold.isListed ? 'sanctions_hold' : 'amount_differs',
            report: { ...told, money: rest },
            booked: rest,
          },
        ]
  const counted = { currency, amount }
  const held = row.parts.filter(({ status }) => status === 'Held')
  if (name === 'holdPart') {
    const part = partOf('Screening')
    const opening = {
      ...opened,
      id: part.id,
      kind: hold.kind,
      report: { ...told, money: counted },
      booked: counted,
    } as const
    return { added: [part], cases: [opening, ...surplus] }
  }
  if (name === 'refusePart') {
    const kind = block ?? 'account_blocked'
    const left = planSuspension(row, held, kind)
    const refused = { ...opened, kind, report: { ...told, money }, booked: money }
    return { ...left, added: [partOf('Suspended')], cases: [...left.cases, refused] }
  }
  const arrived = depositEntries(row, `settlement.${connector}`, 'parts', amount)
  if (name === 'gather') {
    const part = partOf('Held')
    return { added: [part], entries: arrived, told: [part] }
  }
  assert(name === 'fulfil', `unexpected transition of a part: ${name}`)
  const part = partOf('Credited')
  return {
    added: [part],
    moved: held.map((one) => ({ ...one, status: 'Credited' })),
    entries: [...arrived, ...depositEntries(row, 'parts', 'balance', row.amount)],
    cases: surplus,
    told: [part],
  }
}

/**
 * Plans the end of a deposit that was not paid in full: its parts enter suspense, where an operator sends them back or
 * credits them.
 */
function planSuspension(row: DepositWithParts, parts: readonly Part[], kind: NewCase['kind']) {
  const { partnerId, id: subject, currency } = row
  return {
    moved: parts.map((part) => ({ ...part, status: 'Suspended' }) as const),
    entries: parts.flatMap((part) => depositEntries(row, 'parts', `settlement.${part.connector}`, part.amount)),
    cases: parts.map((part): NewCase => {
      const { connector, creditId, amount } = part
      // Under its own id, because the part may have had a case while its payer was under review.
      const notificationId = `${part.notificationId} ended`
      const money = { currency, amount }
      const report = { ...toCaseReport(row, creditId, parsePartReport(part)), money }
      return { partnerId, id: newId(), kind, connector, notificationId, subject, report, booked: money }
    }),
  }
}

/** Creates the report of a case. It names the credit, so that a match creates a deposit of each part. */
const toCaseReport = ({ currency, amount }: Deposit, subjectId: string, report: Partial<PartReport> | undefined) => ({
  ...{ kind: 'credit.booked', subjectId, ...report },
  expected: { currency, amount },
})

/** Creates the ledger entry of an amount, under the reference of the deposit. */
export function depositEntries(
  { partnerId, currency, customerId, reference }: Deposit,
  debit: AccountName,
  credit: AccountName,
  amount: Minor,
): readonly Entry[] {
  if (amount === 0n) return []
  return [
    singleEntry('bank', { partnerId, currency, amount, partyId: customerId ?? partnerId, reference, debit, credit }),
  ]
}
