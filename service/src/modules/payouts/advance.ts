/**
 * The only writer of a payout's progress. One transaction applies a batch of triggers: it decides the move of each payout
 * separately, by the table of moves, then writes all moves together. A duplicate changes nothing.
 */
import type { ErrorKey } from '@partner-payments/wire'
import { after, assert, partnerKey, present } from '../../kernel/index.ts'
import type { NewEvent } from '../../events/index.ts'
import { type Entry, entryOf } from '../../ledger/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { Payer } from '../customers/index.ts'
import type { Move, NewTransaction } from '../transactions/index.ts'
import type { PayoutsDeps } from './deps.ts'
import { failed, withdrawal } from './events.ts'
import { leaseMs, mayMove, type PayoutMove, type PayoutMoveName, payoutMoves } from './lifecycle.ts'
import { holdsReserve, retryDelayAfter } from './rules.ts'
import * as store from './store.ts'

export type Failure = { readonly errorKey: ErrorKey; readonly details: string }

/** What a worker does under its lease. Changes nothing once another worker has the lease. */
type UnderLease =
  | { readonly kind: 'attempt' | 'accepted' | 'unreachable' }
  | { readonly kind: 'refused'; readonly failure: Failure }
/** What the bank reports. The status of the payout decides whether it applies. */
type Notified = { readonly kind: 'settled' } | { readonly kind: 'rejected' | 'returned'; readonly failure: Failure }

export type PayoutTrigger = { readonly partnerId: string } & (
  | (UnderLease & { readonly payoutId: string; readonly leaseId: string })
  | (Notified & { readonly instructionId: string })
)

/**
 * False: nothing changed. `deferred`: the batch holds an earlier trigger of the payout, or the trigger implies an earlier
 * move, which was made; the caller repeats the trigger once that is committed.
 */
export type Advanced = boolean | 'deferred'

type Step = {
  readonly name: PayoutMoveName
  readonly failure?: Failure
  /** The worker keeps the payout under its lease, or it is due again later. Without them the lease ends. */
  readonly leaseId?: string
  readonly dueAt?: Date
  readonly sendAttempts?: number
  readonly implied?: true
}

/** The payout ids of the instructions that a batch names. They never change, so that no lock protects them. */
type Instructions = ReadonlyMap<string, string>

export const readInstructions = async (tx: Tx, triggers: readonly PayoutTrigger[]): Promise<Instructions> => {
  const named = triggers.flatMap((trigger) => ('instructionId' in trigger ? [trigger] : []))
  if (named.length === 0) return new Map()
  const rows = await store.payoutsOfInstructions(
    tx,
    named.map(({ partnerId, instructionId }) => ({ partnerId, endToEndId: instructionId.replaceAll('-', '') })),
  )
  const found = rows.map(({ partnerId, endToEndId, id }) => [partnerKey(partnerId, endToEndId), id] as const)
  return new Map(found)
}

/** Without a row: submitted by a process of an earlier version, during an upgrade, under the payout's own id. */
const payoutIdOf = (trigger: PayoutTrigger, instructions: Instructions): string => {
  if ('payoutId' in trigger) return trigger.payoutId
  const { partnerId, instructionId } = trigger
  return instructions.get(partnerKey(partnerId, instructionId.replaceAll('-', ''))) ?? instructionId
}

export function createAdvance(deps: PayoutsDeps) {
  return async (
    tx: Tx,
    triggers: readonly PayoutTrigger[],
    instructions: Instructions,
  ): Promise<readonly Advanced[]> => {
    const keys = triggers.map((trigger) => ({ partnerId: trigger.partnerId, id: payoutIdOf(trigger, instructions) }))
    const rows = await store.lockPayouts(tx, keys)
    const payouts = new Map(rows.map((row) => [partnerKey(row.partnerId, row.id), row]))
    // After the locks: no move bears an earlier time than one that it waited for.
    const now = deps.clock.now()
    const seen = new Set<string>()
    const steps: { readonly payout: store.PayoutRow; readonly step: Step }[] = []
    const answers = triggers.map((trigger, index): Advanced => {
      const { partnerId, id } = present(keys[index], 'each trigger has a key')
      const key = partnerKey(partnerId, id)
      if (seen.has(key)) return 'deferred'
      seen.add(key)
      const payout = present(payouts.get(key), 'a payout that a worker or a bank names exists')
      const step = decide(payout, trigger, now)
      if (step === undefined) return false
      steps.push({ payout, step })
      return step.implied ? 'deferred' : true
    })
    if (steps.length > 0) await write(deps, tx, steps, now)
    return answers
  }
}

/** Undefined if the trigger changes nothing: it repeats or contradicts the recorded status, or its lease is lost. */
function decide(payout: store.PayoutRow, trigger: PayoutTrigger, now: Date): Step | undefined {
  return 'leaseId' in trigger ? decideUnderLease(payout, trigger, now) : decideNotified(payout, trigger)
}

function decideUnderLease(
  payout: store.PayoutRow,
  trigger: UnderLease & { readonly leaseId: string },
  now: Date,
): Step | undefined {
  const { leaseId } = trigger
  if (payout.leaseId !== leaseId) return undefined
  const { status, sendAttempts } = payout
  switch (trigger.kind) {
    case 'attempt': {
      const lease = { leaseId, dueAt: after(now, leaseMs), sendAttempts: sendAttempts + 1 }
      return { name: status === 'Pending' ? 'accept' : 'retry', ...lease }
    }
    case 'accepted':
      return { name: 'send' }
    case 'refused':
      return { name: 'fail', failure: trigger.failure }
    case 'unreachable':
      return { name: 'retry', dueAt: after(now, retryDelayAfter(sendAttempts)) }
  }
}

/**
 * A notification proves that the bank has the instruction, even if the acknowledgement was lost with its worker. So a
 * Processing payout becomes Sent first, which ends its lease and keeps other workers from sending it again.
 */
function decideNotified({ status }: store.PayoutRow, trigger: Notified): Step | undefined {
  if (status === 'Processing') return { name: 'send', implied: true }
  switch (trigger.kind) {
    case 'settled':
      return mayMove(status, 'complete') ? { name: 'complete' } : undefined
    case 'rejected':
      return status === 'Sent' ? { name: 'fail', failure: trigger.failure } : undefined
    case 'returned': {
      const name = holdsReserve(status) ? 'return' : 'refund'
      return mayMove(status, name) ? { name, failure: trigger.failure } : undefined
    }
  }
}

type Written = { readonly payout: store.PayoutRow; readonly step: Step; readonly move: PayoutMove }

async function write(
  deps: PayoutsDeps,
  tx: Tx,
  steps: readonly { readonly payout: store.PayoutRow; readonly step: Step }[],
  now: Date,
): Promise<void> {
  const { ledger, transactions } = deps
  const written = steps.map(({ payout, step }): Written => {
    const { status, id } = payout
    assert(mayMove(status, step.name), `payout ${id} is ${status}: no move ${step.name} leaves this status`)
    return { payout, step, move: payoutMoves[step.name] }
  })
  store.updatePayouts(tx, written.map(changeOf), now)
  await appendEvents(deps, tx, written, now)
  const refunds = openRefunds(deps, tx, written)
  await transactions.moveMany(tx, [...written.flatMap(transactionMove), ...refunds.map(({ move }) => move)])
  for (const { payout, move } of written)
    if (move.ledger === 'refund')
      await transactions.noteAfterEnd(tx, payout.partnerId, payout.transactionId, 'Returned')
  const ends = written.flatMap(({ payout: { partnerId, reserveId }, move }) =>
    move.ledger === 'post' || move.ledger === 'release' ? [{ partnerId, entryId: reserveId, kind: move.ledger }] : [],
  )
  // Last, because it locks the balances that all other payments of the partner need.
  const credits = refunds.map(({ credit }) => credit)
  await ledger.settleMany(tx, ends, credits)
}

const changeOf = ({ payout, step, move }: Written): store.PayoutChange => ({
  partnerId: payout.partnerId,
  id: payout.id,
  status: move.to,
  errorKey: step.failure?.errorKey ?? null,
  errorDetails: step.failure?.details ?? null,
  sendAttempts: step.sendAttempts ?? payout.sendAttempts,
  dueAt: step.dueAt ?? null,
  leaseId: step.leaseId ?? null,
})

/** A refund adds a step to a transaction that has ended (`noteAfterEnd`). */
function transactionMove({ payout, step, move }: Written): readonly Move[] {
  const { partnerId, transactionId: id } = payout
  const { steps, concludes } = move
  if (move.ledger === 'refund' || steps.length === 0) return []
  if (concludes === undefined) return [{ partnerId, id, steps }]
  const errorKey = step.failure === undefined ? {} : { errorKey: step.failure.errorKey }
  return [{ partnerId, id, steps, conclusion: { status: concludes, ...errorKey } }]
}

/** The events of customers' withdrawals. A payout of the partner's own has only the event of its status. */
async function appendEvents(
  { customers, eventOutbox }: PayoutsDeps,
  tx: Tx,
  written: readonly Written[],
  now: Date,
): Promise<void> {
  const told = written.flatMap(({ payout, step, move }) => {
    const { partnerId, customerId } = payout
    const { event } = move
    return customerId === null || event === undefined
      ? []
      : [{ payout, step, event, key: { partnerId, id: customerId } }]
  })
  if (told.length === 0) return
  const payers = await customers.payersByIds(
    tx,
    told.map(({ key }) => key),
  )
  const events = told.map(({ payout, step, event, key }): WithdrawalEvent => {
    const payer = present(payers.get(partnerKey(key.partnerId, key.id)), 'the customer of a payout exists')
    return eventOf(payout, payer, event, step.failure, now)
  })
  eventOutbox.appendMany(tx, events)
}

type WithdrawalEvent = { [N in WithdrawalEventName]: NewEvent<N> }[WithdrawalEventName]
type WithdrawalEventName = `partner.customer.withdrawal.${NonNullable<PayoutMove['event']>}`

function eventOf(
  payout: store.PayoutRow,
  payer: Payer,
  event: NonNullable<PayoutMove['event']>,
  failure: Failure | undefined,
  now: Date,
): WithdrawalEvent {
  const origin = { partnerId: payout.partnerId, occurredAt: now }
  const data = withdrawal(payout, payer)
  if (event === 'failed')
    return { ...origin, type: 'partner.customer.withdrawal.failed', data: failed(data, failure?.details ?? null) }
  return { ...origin, type: `partner.customer.withdrawal.${event}`, data }
}

type Refund = { readonly move: Move; readonly credit: Entry }

/** After settlement: new transactions, which complete at once and name the transactions that they refund. */
function openRefunds({ transactions, railId }: PayoutsDeps, tx: Tx, written: readonly Written[]): readonly Refund[] {
  const refunded = written.filter(({ move }) => move.ledger === 'refund').map(({ payout }) => payout)
  const opened = transactions.openMany(tx, refunded.map(refundOf), new Set())
  return refunded.map((payout, index) => {
    const { id, reference } = present(opened[index], 'each refund has a transaction')
    const { partnerId, amount, currency, customerId } = payout
    const debit = `settlement.${present(railId, 'a payout that was sent has a rail')}` as const
    const moved = { partnerId, currency, amount, partyId: customerId ?? partnerId, reference }
    return {
      move: { partnerId, id, steps: ['Settled', 'Credited'], conclusion: { status: 'Completed' } },
      credit: entryOf('direct', { ...moved, debit, credit: 'balance' }),
    }
  })
}

const refundOf = (payout: store.PayoutRow): NewTransaction => ({
  partnerId: payout.partnerId,
  reference: null,
  amount: payout.amount,
  currency: payout.currency,
  category: 'Deposit',
  direction: 'Inward',
  type: payout.customerId === null ? 'PartnerDeposit' : 'PartnerCustomerRefund',
  rail: payout.rail,
  customerId: payout.customerId,
  steps: ['Created'],
  endToEndId: payout.endToEndId,
  originatingReference: payout.reference,
  description: `Return of ${payout.reference}`,
  debtor: { accountHolderName: payout.creditorName, iban: payout.creditorAccount, country: payout.creditorCountry },
})
