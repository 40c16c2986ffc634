/**
 * The only writer of a deposit's progress: the lifecycle engine with the table of deposits. One transaction applies a
 * batch of triggers and writes all transitions together. A duplicate changes nothing.
 */
import { ownJson } from '@partner-payments/wire'
import { assert, newId, partnerKey, present, type RowKey, type Money } from '../kernel/index.ts'
import { type Entry, singleEntry } from '../ledger/index.ts'
import { type BlockReason, type InboundAccounts, withoutBlocks, readInboundAccounts } from './inbound.ts'
import type { NewEvent } from '../events/index.ts'
import { type TriggerOutcome, createEngine, type PaymentTransition, findTransition } from '../lifecycle/index.ts'
import type { NewCase } from '../cases/index.ts'
import type { Tx } from '../postgres/index.ts'
import type { IncomingDebtor } from '../rails/index.ts'
import type { Payer } from '../parties/customers/index.ts'
import type { TransactionMove } from '../transactions/index.ts'
import { creditAccounts, type DepositsDeps, payerParty } from './deps.ts'
import * as events from './events.ts'
import { type DepositEvent, depositLifecycle, type DepositTrigger, mayExpire } from './lifecycle.ts'
import {
  isForeignPart,
  isKnownPart,
  isFullyPaid,
  partTriggerKind,
  type PartsPlan,
  partTrigger,
  planParts,
} from './parts.ts'
import { awaitsAnswer, isWithheld, lacksOwnershipProof } from './payers.ts'
import { type ArrivingMoney, createScreenedLock, type ScreenedDeposit, payerKey } from './screened.ts'
import { decidePayerCheck, insertParts, insertPayerChecks, updatePartStatuses } from './store-parts.ts'
import * as store from './store.ts'

type DepositMove = PaymentTransition<ScreenedDeposit, DepositTrigger, DepositEvent>

/** Creates the function that applies a batch of triggers. It returns for each trigger whether the deposit changed. */
export function createApplyBatch(deps: DepositsDeps) {
  return async (tx: Tx, triggers: readonly DepositTrigger[]): Promise<readonly TriggerOutcome[]> => {
    const apply = createApply(deps, connectorsOf(triggers), arrivingMoney(deps, triggers))
    return apply(
      tx,
      triggers.map((trigger) => ({ key: { partnerId: trigger.partnerId, id: trigger.subjectId }, trigger })),
    )
  }
}

/** Maps each deposit to the connector that reports about it. */
const connectorsOf = (triggers: readonly DepositTrigger[]): ReadonlyMap<string, string> =>
  new Map(
    triggers.flatMap((trigger) =>
      'connector' in trigger ? [[partnerKey(trigger.partnerId, trigger.subjectId), trigger.connector] as const] : [],
    ),
  )

/** Maps each deposit to the payer and the text of the credit that is processed first. */
const arrivingMoney = (
  { screening }: Pick<DepositsDeps, 'screening'>,
  triggers: readonly DepositTrigger[],
): ReadonlyMap<string, ArrivingMoney> =>
  new Map(
    triggers.toReversed().flatMap((trigger) => {
      if (trigger.kind !== 'credit') return []
      const text = screening.textOf([trigger.origin.remittance, trigger.origin.endToEndId])
      const { debtor, money, isDecided } = trigger
      return [[partnerKey(trigger.partnerId, trigger.subjectId), { text, debtor, money, isDecided }] as const]
    }),
  )

/**
 * Creates the engine of one batch. It decides by the states of the accounts that it has read. If one changes before the
 * commit, the batch runs again.
 */
function createApply(
  deps: DepositsDeps,
  connectors: ReadonlyMap<string, string>,
  arriving: ReadonlyMap<string, ArrivingMoney>,
) {
  let inbound: InboundAccounts = withoutBlocks
  const lock = createScreenedLock(deps)
  return createEngine({
    clock: deps.clock,
    lifecycle: depositLifecycle,
    lock: async (tx, keys) => {
      const connectorOf = ({ partnerId, id }: RowKey) => connectors.get(partnerKey(partnerId, id))
      const rows = await lock(tx, keys, ({ partnerId, id }) => arriving.get(partnerKey(partnerId, id)), connectorOf)
      inbound = await readInboundAccounts(deps, tx, rows, connectorOf)
      return rows
    },
    actorOf,
    holds: (deposit: ScreenedDeposit, trigger: DepositTrigger, now) => {
      if (trigger.kind === 'cleared') {
        const awaits = deposit.hold !== 'confirmed' && awaitsAnswer(deposit.payer, now)
        return deposit.status === 'Screening' && !isUndecided(deposit) && !awaits
      }
      if ('connector' in trigger)
        return !isKnownCredit(deposit, trigger) && !isKnownReport(deposit, trigger) && !isKnownPart(deposit, trigger)
      return trigger.kind === 'ended' || (deposit.expiresAt !== null && deposit.expiresAt <= now)
    },
    kindOf: (deposit, trigger) => kindOf(inbound, deposit, trigger),
    isEarly: (deposit, trigger) => wouldCredit(deposit, trigger) && deposit.hold === 'unscreened',
    isForeign: (deposit, trigger) =>
      (moneyOf(trigger)?.amount ?? 1n) <= 0n ||
      isOtherCredit(deposit, trigger) ||
      isForeignPart(deposit, partTrigger(deposit, trigger)),
    write: (tx, moves, now) => write(deps, tx, moves, now, inbound),
  })
}

/** Returns the money in a bank notification. Undefined: the notification states no amount. */
const moneyOf = (trigger: DepositTrigger): Money | undefined => ('money' in trigger ? trigger.money : undefined)

const actorOf = (trigger: DepositTrigger) => {
  if ('connector' in trigger) return 'bank'
  if (trigger.kind === 'cleared') return 'worker'
  return trigger.kind === 'ended' ? 'partner' : 'time'
}

const isUndecided = ({ hold }: ScreenedDeposit): boolean => hold === 'open' || hold === 'unscreened'

/**
 * Reports whether a rule withholds the money because data of the payer are missing. An operator who has found the owner
 * knows the payer.
 */
const isPayerWithheld = ({ payer }: ScreenedDeposit, trigger: DepositTrigger): boolean =>
  isWithheld(payer) && !(trigger.kind === 'credit' && trigger.isDecided)

/** Reports whether a name, an account or a country of the deposit is on a list, or may be. */
const isListed = ({ hold }: ScreenedDeposit): boolean => hold === 'open' || hold === 'confirmed'

/** Returns the kind of the case about money that waits or is frozen. */
function holdCaseKind({ hold, payer }: ScreenedDeposit, block?: BlockReason): NewCase['kind'] {
  if (hold !== undefined) return 'sanctions_hold'
  return isWithheld(payer) ? 'payer_data_missing' : (block ?? 'sanctions_hold')
}

const moneyHold = (row: ScreenedDeposit, block: BlockReason | undefined) => ({
  kind: holdCaseKind(row, block),
  isListed: isListed(row),
})

/** Reports whether the trigger would credit the deposit. */
const wouldCredit = (deposit: ScreenedDeposit, trigger: DepositTrigger): boolean =>
  (deposit.status === 'Accepted' || (partTrigger(deposit, trigger) !== undefined && deposit.status !== 'Screening')) &&
  (trigger.kind === 'deposit.settled' || trigger.kind === 'credit') &&
  !isWrongAmount(deposit, trigger)

/**
 * Chooses the kind of a trigger. A hold precedes a block: the case of a block must not pay back the money of a listed
 * person. Cleared money that its account refuses stays in suspense with its case, because an operator can only send it
 * back from there.
 */
function kindOf(inbound: InboundAccounts, deposit: ScreenedDeposit, trigger: DepositTrigger) {
  if (trigger.kind === 'cleared') {
    if (deposit.hold === 'confirmed' || isWithheld(deposit.payer)) return 'confirmed'
    if (inbound.blockOf(deposit) !== undefined) return 'confirmed'
    return deposit.inParts && !isFullyPaid(deposit) ? 'part-cleared' : 'cleared'
  }
  const isHeld = wouldCredit(deposit, trigger) && (deposit.hold !== undefined || isPayerWithheld(deposit, trigger))
  const paying = partTrigger(deposit, trigger)
  if (paying) return partTriggerKind(deposit, paying, isHeld, isStopped(inbound, deposit, trigger))
  if (isHeld) return 'held'
  if (!isWrongAmount(deposit, trigger) && !isStopped(inbound, deposit, trigger)) return trigger.kind
  return trigger.kind === 'credit' ? 'credit-misfit' : 'misfit'
}

/** Reports whether money belongs to another payment: a deposit is paid once, by one credit or one report. */
function isOtherCredit({ creditId, settledBy }: store.Deposit, trigger: DepositTrigger): boolean {
  if (trigger.kind === 'credit') return creditId !== null && trigger.creditId !== creditId
  return (
    trigger.kind === 'deposit.settled' && (creditId !== null || (settledBy !== null && trigger.money !== undefined))
  )
}

/** Reports whether the bank repeats the report that ended the deposit. */
const isKnownReport = ({ settledBy }: store.Deposit, trigger: DepositTrigger): boolean =>
  trigger.kind === 'deposit.settled' && trigger.id === settledBy

/** Reports whether the bank repeats the credit that ended the deposit. */
const isKnownCredit = ({ creditId, status }: store.Deposit, trigger: DepositTrigger): boolean =>
  trigger.kind === 'credit' &&
  trigger.creditId === creditId &&
  findTransition(depositLifecycle, status, 'credit') === undefined

/** Reports whether the money differs from what a deposit of one payment expects. */
function isWrongAmount({ currency, amount, inParts }: store.Deposit, trigger: DepositTrigger): boolean {
  const money = moneyOf(trigger)
  return !inParts && money !== undefined && (money.currency !== currency || money.amount !== amount)
}

/** Reports whether the money has arrived, and the balance or the customer's account refuses it. */
const isStopped = ({ blockOf }: InboundAccounts, deposit: store.Deposit, trigger: DepositTrigger): boolean =>
  (trigger.kind === 'deposit.settled' || (trigger.kind === 'credit' && !trigger.isDecided)) &&
  blockOf(deposit) !== undefined

/** Creates the case of money under review. The money is in suspense; the case has the id of the deposit. */
function toHoldCase({ row, trigger }: DepositMove): NewCase {
  const { partnerId, id, currency, amount, debtor, endToEndId } = row
  assert('connector' in trigger, `credit of deposit ${row.id} has no connector`)
  const { connector, id: notificationId, kind } = trigger
  const stored = debtor === null ? null : ownJson<IncomingDebtor>(debtor)
  const [money, payer] = [{ currency, amount }, 'debtor' in trigger ? trigger.debtor : stored]
  const origin = trigger.kind === 'credit' ? trigger.origin : { endToEndId }
  const report = { kind, money, debtor: payer, ...origin, ...payerReport(row) }
  return { partnerId, id, kind: holdCaseKind(row), connector, notificationId, subject: id, report, booked: money }
}

/** Describes the missing data of the payer, for the case. */
const payerReport = ({ payer }: ScreenedDeposit) =>
  payer === undefined || !isWithheld(payer)
    ? {}
    : { payer: { lacks: payer.lacks.split(' '), measure: payer.measure, answerBy: payer.answerBy } }

/** Creates the case about money that does not fit the deposit. The money is in suspense until an operator decides. */
function misfitCases({ row, trigger }: DepositMove, { blockOf }: InboundAccounts): readonly NewCase[] {
  if (!('connector' in trigger)) return []
  const { partnerId, id: subject, currency, amount } = row
  const money = moneyOf(trigger) ?? { currency, amount }
  const { connector, id: notificationId } = trigger
  const told = { kind: trigger.kind, money, expected: { currency, amount } }
  const opened = { partnerId, id: newId(), connector, notificationId, subject, booked: money }
  // Lets an operator send it back, or give it to the customer.
  const paid = trigger.kind === 'credit' ? trigger.origin : { endToEndId: row.endToEndId }
  const report = { ...told, ...paid, debtor: debtorOf(row) }
  if (isListed(row)) return [{ ...opened, kind: 'sanctions_hold', report }]
  if (isWrongAmount(row, trigger)) return [{ ...opened, kind: 'amount_differs', report }]
  return [{ ...opened, kind: blockOf(row) ?? 'account_blocked', report }]
}

async function write(
  deps: DepositsDeps,
  tx: Tx,
  moves: readonly DepositMove[],
  now: Date,
  inbound: InboundAccounts,
): Promise<void> {
  const { accounts, owners } = inbound
  const { cases, ledger, eventOutbox, transactions } = deps
  const plans = new Map(
    moves
      .filter(({ row }) => row.inParts)
      .map(
        (move) =>
          [
            move,
            planParts(move, inbound.blockOf(move.row), now, moneyHold(move.row, inbound.blockOf(move.row))),
          ] as const,
      ),
  )
  const credits = moves.flatMap((move) =>
    move.transition.ledger === 'credit' && !move.row.inParts ? [creditEntry(move)] : [],
  )
  const changes = moves.map((move) => toChange(move, now))
  store.updateDeposits(tx, changes, now)
  eventOutbox.appendMany(
    tx,
    moves.flatMap((move) => eventsOf(move, plans.get(move), owners, now)),
  )
  await transactions.moveMany(tx, moves.map(transactionMove))
  const opened = moves.flatMap((move) =>
    move.name === 'misfit' ? misfitCases(move, inbound) : move.name === 'hold' ? [toHoldCase(move)] : [],
  )
  const suspended = [
    ...(opened.length > 0 ? await cases.record(tx, opened) : []),
    ...(await followScreening(deps, tx, moves)),
    ...(await writeParts(deps, tx, [...plans.values()])),
  ]
  await offerMisfits(deps, tx, moves, opened, plans)
  // Last, because it locks the balances, which all other payments of the partner need.
  if (suspended.length > 0) await ledger.settleMany(tx, [], [...credits, ...suspended], accounts)
  else await ledger.enterMany(tx, credits, accounts)
}

/**
 * Offers unmatched money to the partner. Only the operator decides about money of a blocked account or of a name under
 * review.
 */
async function offerMisfits(
  { late }: DepositsDeps,
  tx: Tx,
  moves: readonly DepositMove[],
  opened: readonly NewCase[],
  plans: ReadonlyMap<DepositMove, PartsPlan>,
): Promise<void> {
  const rows = new Map(moves.map(({ row }) => [partnerKey(row.partnerId, row.id), row]))
  const surplus = new Set([...plans].flatMap(([{ name }, { cases }]) => (name === 'expire' ? [] : cases)))
  const offered = [...opened, ...[...plans.values()].flatMap(({ cases }) => cases)].flatMap((each) => {
    const { kind, partnerId, subject, id: caseId, booked: money } = each
    const deposit = rows.get(partnerKey(partnerId, subject))
    if (kind !== 'amount_differs' || deposit === undefined || caseId === undefined || money === null) return []
    const ofPart = surplus.has(each) ? 'Surplus' : 'Incomplete'
    return [{ caseId, deposit, money, reason: deposit.inParts ? ofPart : 'OtherAmount' } as const]
  })
  if (offered.length > 0) await late.offer(tx, offered)
}

/**
 * Adds the payer to screening. The case ends when the deposit no longer waits, unless the money is frozen. Returns the
 * entries of returned money.
 */
async function followScreening(
  { cases, clock, screening }: DepositsDeps,
  tx: Tx,
  moves: readonly DepositMove[],
): Promise<readonly Entry[]> {
  for (const { name, row } of moves)
    if (name === 'hold' || name === 'holdPart' || (name === 'misfit' && isListed(row)))
      await screening.request(tx, payerKey(row))
  await insertPayerChecks(
    tx,
    moves.flatMap(({ name, row: { payer, status }, trigger }) =>
      payer?.decision === null &&
      (status !== 'Screening' || name === 'holdPart') &&
      creditsOrHolds.has(name) &&
      'connector' in trigger
        ? [payer]
        : [],
    ),
  )
  // Money that a rule rejects is sent back after the approval of two operators. Frozen money stays in suspense, and so
  // do tokens, because the sender may have lost the wallet.
  const refused = moves.filter(
    ({ name, row }) =>
      name === 'freeze' && row.hold !== 'confirmed' && isWithheld(row.payer) && !lacksOwnershipProof(row.payer),
  )
  for (const { row } of refused)
    await cases.sendBack(tx, row.inParts ? row.parts.filter(isInScreening) : [row], refusedNote)
  for (const { name, row } of moves)
    if (name === 'release' && lacksOwnershipProof(row.payer)) await decidePayerCheck(tx, row, 'received', clock.now())
  const released = moves.filter(({ name, row }) => name === 'release' && !row.inParts)
  await cases.release(
    tx,
    released.map(({ row }) => row),
    clearedNote,
  )
  const withdrawn = moves.filter(({ name }) => name === 'withdraw')
  await cases.release(
    tx,
    withdrawn.map(({ row }) => row),
    'The bank has reversed the payment.',
  )
  return withdrawn.map(returnEntry)
}

const isInScreening = ({ status }: { readonly status: string }) => status === 'Screening'
/** The transitions at which money arrives. */
const creditsOrHolds: ReadonlySet<string> = new Set(['settle', 'hold', 'gather', 'fulfil', 'holdPart'])
const refusedNote = 'Data of the payer are missing: the rule of the operator sends the money back.'
const clearedNote = 'The names were cleared: the deposit is credited.'

/** Writes the parts of a batch, and returns the entries of their money. */
async function writeParts({ cases }: DepositsDeps, tx: Tx, plans: readonly PartsPlan[]): Promise<readonly Entry[]> {
  await insertParts(
    tx,
    plans.flatMap(({ added }) => added),
  )
  await updatePartStatuses(
    tx,
    plans.flatMap(({ moved }) => moved),
  )
  const released = plans.flatMap((plan) => plan.released)
  await cases.release(tx, released, clearedNote)
  const suspended = await cases.record(
    tx,
    plans.flatMap((plan) => plan.cases),
  )
  return [...plans.flatMap(({ entries }) => entries), ...suspended]
}

const toChange = ({ row, trigger, transition: { to } }: DepositMove, now: Date): store.DepositChange => ({
  partnerId: row.partnerId,
  id: row.id,
  fromStatus: row.status,
  status: to,
  debtor: 'debtor' in trigger ? JSON.stringify(trigger.debtor) : null,
  errorDetails: to === 'Failed' ? failureText(row, trigger) : null,
  // A deposit that waited for a decision expires as before.
  expiresAt: mayExpire(to) ? (row.expiresAt ?? row.expiryDate) : null,
  heldSince: to === 'Submitted' ? now : to === 'Accepted' ? (row.heldSince ?? now) : null,
  screeningSince: to === 'Screening' ? now : null,
  screeningDueAt: to === 'Screening' ? now : null,
  ...originOf(trigger),
  settledBy: trigger.kind === 'deposit.settled' && !row.inParts ? trigger.id : null,
  craftText: row.craftText,
  ...(trigger.kind === 'credit' && !row.inParts
    ? { connector: trigger.connector, creditId: trigger.creditId, transactionHash: trigger.transactionHash ?? null }
    : { connector: null, creditId: null, transactionHash: null }),
})

/** Returns the origin of the payment, which is known once it begins. */
function originOf(trigger: DepositTrigger) {
  const payer = trigger.kind === 'deposit.initiated' ? trigger.payer : undefined
  return { ipAddress: payer?.ipAddress ?? null, paymentCountry: payer?.countryCode ?? null }
}

function withOrigin({ row, trigger }: DepositMove): store.Deposit {
  const { ipAddress, paymentCountry } = originOf(trigger)
  return { ...row, ipAddress: ipAddress ?? row.ipAddress, paymentCountry: paymentCountry ?? row.paymentCountry }
}

const failureText = (deposit: store.Deposit, trigger: DepositTrigger): string | null => {
  if ('details' in trigger) return trigger.details
  // States only what the partner must know, because a listed person must not be warned.
  if (trigger.kind === 'cleared') return 'The payment cannot be credited.'
  return isWrongAmount(deposit, trigger) ? 'The amount differs from the expected one.' : 'The account accepts no money.'
}

const toMonitored = ({ partnerId, currency, amount, customerId, reference }: store.Deposit) =>
  ({ partnerId, currency, amount, partyId: customerId ?? partnerId, reference }) as const

/** Credits the deposit from the settlement account of the connector, or from suspense if the money waited there. */
function creditEntry({ name, row, trigger }: DepositMove): Entry {
  if (name === 'release') return singleEntry('decision', { ...toMonitored(row), debit: 'suspense', credit: 'balance' })
  assert('connector' in trigger, `credit of deposit ${row.id} has no connector`)
  return singleEntry('bank', { ...toMonitored(row), ...creditAccounts(trigger.connector, row.partnerId) })
}

function returnEntry({ row, trigger }: DepositMove): Entry {
  assert('connector' in trigger, `reversal of deposit ${row.id} has no connector`)
  return singleEntry('bank', { ...toMonitored(row), debit: 'suspense', credit: `settlement.${trigger.connector}` })
}

function transactionMove({ row, transition, trigger, actor, implied }: DepositMove): TransactionMove {
  const { steps, concludes, errorKey, ledger } = transition
  const reason = 'reasonCode' in trigger && !implied ? trigger.reasonCode : null
  const bankText = 'bankText' in trigger && !implied ? (trigger.bankText ?? null) : null
  const { ipAddress } = originOf(trigger)
  const user = ipAddress === null ? {} : { userIpAddress: ipAddress }
  const move = { partnerId: row.partnerId, id: row.transactionId, steps, actor, reason, bankText, ...user }
  if (concludes === undefined) return move
  const conclusion = {
    status: concludes,
    customFields: events.parseCustomFields(row),
    ...(errorKey === undefined ? {} : { errorKey }),
    ...(ledger === 'credit' ? { debtor: payerParty(payerOf(row, trigger), row.currency) } : {}),
  }
  return { ...move, conclusion }
}

const debtorOf = ({ id, debtor }: store.Deposit) =>
  ownJson<IncomingDebtor>(present(debtor, `no debtor on deposit ${id}`))

/** Returns the payer of the last part, which its credit states. */
const payerOf = (row: store.Deposit, trigger: DepositTrigger): IncomingDebtor =>
  'debtor' in trigger ? trigger.debtor : debtorOf(row)

type NewDepositEvent = { [N in DepositEvent]: NewEvent<N> }[DepositEvent]

/** Creates the events of a transition. A deposit of the partner itself only has the event of its transaction. */
function eventsOf(
  move: DepositMove,
  plan: PartsPlan | undefined,
  owners: ReadonlyMap<string, Payer>,
  now: Date,
): readonly NewDepositEvent[] {
  const { trigger, transition } = move
  const deposit = withOrigin(move)
  const { partnerId, customerId } = deposit
  if (customerId === null) return []
  const customer = present(
    owners.get(partnerKey(partnerId, customerId)),
    `no customer ${customerId} for deposit ${deposit.id}`,
  )
  const type = transition.event
  const origin = { partnerId, occurredAt: now }
  const ofParts = events.partEvents(deposit, customer, plan, now)
  // The interface document has no event for money under review: the timeline shows it.
  if (type === undefined) return ofParts
  assert(type !== 'partner.customer.deposit.created', 'a deposit is created once')
  switch (type) {
    case 'checkout.part.updated':
      return ofParts
    case 'partner.customer.deposit.initiated':
      return [{ ...origin, type, data: events.initiatedEvent(deposit, customer) }]
    case 'partner.customer.deposit.submitted':
      return [{ ...origin, type, data: events.submittedEvent(deposit, customer) }]
    case 'partner.customer.deposit.accepted': {
      assert('debtor' in trigger, 'the bank accepts a payment by naming its debtor')
      return [{ ...origin, type, data: events.acceptedEvent(deposit, customer, trigger.debtor) }]
    }
    case 'partner.customer.deposit.completed': {
      const payer = payerOf(deposit, trigger)
      const completed = { ...origin, type, data: events.completedEvent(deposit, customer, payer) }
      if (plan === undefined) return [completed]
      // The bank has accepted the full amount only now.
      const accepted = 'partner.customer.deposit.accepted' as const
      return [
        ...ofParts,
        { ...origin, type: accepted, data: events.acceptedEvent(deposit, customer, payer) },
        completed,
      ]
    }
    case 'partner.customer.deposit.failed':
      return [{ ...origin, type, data: events.failedEvent(deposit, customer, failureText(deposit, trigger) ?? '') }]
    case 'partner.customer.deposit.expired':
      return [{ ...origin, type, data: events.expiredEvent(deposit, customer) }]
  }
}
