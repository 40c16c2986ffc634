/**
 * Checks a partner's payments: legal timelines, statuses that agree with each other and with the ledger, and exactly the
 * events of the contract's table, in order. Derived from the contract page, not from the rules of the service.
 */
import assert from 'node:assert/strict'
import { events as eventShapes, isEventName, parseJsonExactly } from '@partner-payments/wire'
import { Value } from 'typebox/value'
import { sql, type Tx } from '../../service/src/postgres/index.ts'
import { emitted } from '../support/emitted.ts'
import { checkLedger } from './ledger-audit.ts'

type Payment = {
  readonly id: string
  readonly reference: string
  readonly type: string
  readonly status: string
  readonly errorKey: string | null
  readonly updatedAt: Date
  /** The time of the first and the newest entry of the timeline. */
  readonly firstEntryAt: Date
  readonly newestEntryAt: Date
  readonly timeline: readonly string[]
}

/** The allowed timelines, as `Step:Status` words. */
const withdrawalTimeline =
  /^Created:Pending Reserved:Pending( Expired:Cancelled|(?: Approval:Pending)?(?: Cancelled:Cancelled|(?: Screening:Pending)? Accepted:Pending( Sent:Pending( Settled:Completed( Returned:Completed)?| Failed:Unsuccessful| Returned:Unsuccessful)?| Failed:Unsuccessful)?)?)?$/
/** The second form is a credit, for which no deposit waited. */
const depositTimeline =
  /^Created:Pending( Expired:Expired| Accepted:Pending Settled:Completed Credited:Completed| Initiated:Pending( Expired:Expired| Submitted:Pending( Failed:Unsuccessful| Accepted:Pending( Settled:Completed Credited:Completed)?)?)?)?$/
const timelines: Readonly<Record<string, RegExp>> = {
  PartnerWithdraw: withdrawalTimeline,
  PartnerCustomerWithdraw: withdrawalTimeline,
  PartnerCustomerDeposit: depositTimeline,
  PartnerDeposit: /^Created:Pending Settled:Completed Credited:Completed$/,
  PartnerCustomerRefund: /^Created:Pending Settled:Completed Credited:Completed$/,
}

const ended = (status: string) => `transaction.status.changed ${status}`
const withdrawal = (name: string) => [`partner.customer.withdrawal.${name}`]
const deposit = (name: string) => [`partner.customer.deposit.${name}`]

/** The table "What causes which event" of the contract page, by the step that is the cause. */
const causes: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  PartnerCustomerWithdraw: {
    'Created:Pending': withdrawal('requested'),
    'Accepted:Pending': withdrawal('accepted'),
    'Sent:Pending': withdrawal('sent'),
    'Settled:Completed': [ended('Completed')],
    'Failed:Unsuccessful': [...withdrawal('failed'), ended('Unsuccessful')],
    'Returned:Unsuccessful': [...withdrawal('failed'), ended('Unsuccessful')],
    'Cancelled:Cancelled': [ended('Cancelled')],
    'Expired:Cancelled': [ended('Cancelled')],
  },
  PartnerWithdraw: {
    'Cancelled:Cancelled': [ended('Cancelled')],
    'Expired:Cancelled': [ended('Cancelled')],
    'Settled:Completed': [ended('Completed')],
    'Failed:Unsuccessful': [ended('Unsuccessful')],
    'Returned:Unsuccessful': [ended('Unsuccessful')],
  },
  PartnerCustomerDeposit: {
    'Created:Pending': deposit('created'),
    'Initiated:Pending': deposit('initiated'),
    'Submitted:Pending': deposit('submitted'),
    'Accepted:Pending': deposit('accepted'),
    'Settled:Completed': [...deposit('completed'), ended('Completed')],
    'Failed:Unsuccessful': [...deposit('failed'), ended('Unsuccessful')],
    'Expired:Expired': [...deposit('expired'), ended('Expired')],
  },
  PartnerDeposit: { 'Settled:Completed': [ended('Completed')] },
  PartnerCustomerRefund: { 'Settled:Completed': [ended('Completed')] },
}

const paymentsOf = (tx: Tx, partnerId: string) =>
  tx.rows<Payment>(sql`
    select id, reference, type, status, error_key, updated_at, array(
      select entry ->> 'step' || ':' || (entry ->> 'status')
      from jsonb_array_elements(transactions.timeline) with ordinality as entries (entry, position)
      order by position) as timeline,
      (select max((entry ->> 'createdAt')::timestamptz)
        from jsonb_array_elements(transactions.timeline) as entries (entry)) as newest_entry_at,
      (timeline -> 0 ->> 'createdAt')::timestamptz as first_entry_at
    from transactions.transactions where partner_id = ${partnerId} order by id`)

function checkTimeline(payment: Payment, since: Date): void {
  const { reference, type, status, errorKey, timeline, updatedAt, firstEntryAt, newestEntryAt } = payment
  const allowed = timelines[type]
  assert.ok(allowed, `a type that these modules do not create: ${type}`)
  assert.match(timeline.join(' '), allowed, `the timeline of ${reference} (${type})`)
  assert.equal(timeline.at(-1)?.split(':')[1], status, `the last entry of ${reference} has its status`)
  if (firstEntryAt > since) assert.ok(!timeline.includes('Screening:Pending'), 'nothing screens payments')
  if (newestEntryAt >= since)
    assert.deepEqual(updatedAt, newestEntryAt, `updatedAt of ${reference} moves with its timeline`)
  assert.equal(errorKey !== null, status === 'Unsuccessful' || status === 'Expired', `the errorKey of ${reference}`)
}

type EventRow = { readonly type: string; readonly reference: string; readonly data: string }

/** The events of each reference, in order. Checks each payload against the contract, field by field. */
async function eventsOf(tx: Tx, partnerId: string): Promise<ReadonlyMap<string, readonly string[]>> {
  const rows = await tx.rows<EventRow>(sql`
    select type, reference, data from events.events where partner_id = ${partnerId} order by id`)
  const named = rows.map(({ type, reference, data }) => {
    assert.ok(isEventName(type), `an event outside the emitted set: ${type}`)
    const payload = parseJsonExactly(data) as Readonly<Record<string, unknown>>
    assert.deepEqual(Object.keys(payload).toSorted(), emitted[type], `the fields of ${type}`)
    assert.deepEqual([payload['eventType'], payload['reference']], [type, reference])
    const name = type === 'transaction.status.changed' ? ended(String(payload['status'])) : type
    assert.ok(Value.Check(eventShapes[type].data, payload), `${type}: ${data}`)
    return { reference, name }
  })
  const groups = Map.groupBy(named, (event) => event.reference)
  return new Map([...groups].map(([reference, group]) => [reference, group.map((event) => event.name)]))
}

/** The reserved balance equals the payouts under way with their fees, and each payout agrees with its transaction. */
async function checkPayouts(tx: Tx, partnerId: string, reserved: bigint): Promise<void> {
  type Row = { status: string; amount: bigint; fee: bigint; transaction: string; key: string | null }
  const rows = await tx.rows<Row>(sql`
    select payout.status, payout.amount, coalesce(payout.fee_amount, 0) as fee, transaction.status as transaction, payout.idempotency_key as key
    from payouts.payouts as payout join transactions.transactions as transaction
      on transaction.partner_id = ${partnerId} and transaction.id = payout.transaction_id
    where payout.partner_id = ${partnerId}`)
  const outcomes: Readonly<Record<string, readonly string[]>> = {
    PendingApproval: ['Pending'],
    Cancelled: ['Cancelled'],
    Pending: ['Pending'],
    Processing: ['Pending'],
    Sent: ['Pending'],
    Completed: ['Completed'],
    Failed: ['Unsuccessful'],
    Returned: ['Completed', 'Unsuccessful'],
  }
  for (const { status, transaction } of rows)
    assert.ok(outcomes[status]?.includes(transaction), `payout ${status}, transaction ${transaction}`)
  const underWay = rows
    .filter((row) => row.transaction === 'Pending')
    .reduce((sum, row) => sum + row.amount + row.fee, 0n)
  assert.equal(reserved, underWay, 'the reserved balance is the sum of the payouts under way, with their fees')
  const keys = rows.map((row) => row.key).filter((key) => key !== null)
  assert.equal(new Set(keys).size, keys.length, 'one payout for each key')
}

export type Ends = Map<string, string>

/**
 * Checks all payments of one partner. `ends` stores the finished transactions between calls: afterwards only a return
 * may change one, by one more entry in the timeline. `since` is the time of the upgrade: an earlier version wrote a
 * step `Screening`, and did not move the stored `updated_at` with every entry.
 */
export async function checkPayments(
  tx: Tx,
  partnerId: string,
  ends: Ends,
  since = new Date(0),
): Promise<readonly Payment[]> {
  const accounts = await checkLedger(tx, partnerId)
  const reserved = accounts.find(({ name }) => name === 'balance')?.reserved ?? 0n
  await checkPayouts(tx, partnerId, reserved)
  const payments = await paymentsOf(tx, partnerId)
  const events = await eventsOf(tx, partnerId)
  for (const payment of payments) {
    checkTimeline(payment, since)
    const { type, reference, timeline, status, errorKey } = payment
    // A credit begins with its acceptance: no deposit was created before.
    const caused = type.endsWith('Deposit') && timeline[1] === 'Accepted:Pending' ? timeline.slice(1) : timeline
    const due = caused.flatMap((entry) => causes[type]?.[entry] ?? [])
    assert.deepEqual(events.get(reference) ?? [], due, `the events of ${reference} (${timeline.join(' ')})`)
    if (status === 'Pending') continue
    const entries = timeline.filter((entry) => entry !== 'Returned:Completed')
    const now = JSON.stringify([status, errorKey, entries])
    assert.equal(now, ends.get(payment.id) ?? now, `${reference} changed after its end`)
    ends.set(payment.id, now)
  }
  const known = new Set(payments.map((payment) => payment.reference))
  assert.deepEqual(
    [...events.keys()].filter((reference) => !known.has(reference)),
    [],
    'every event belongs to a payment',
  )
  return payments
}
