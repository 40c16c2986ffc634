/** Observations of a payment from outside, and those that a row of a table of transitions predicts. */
import assert from 'node:assert/strict'
import type { Transition } from '../../service/src/lifecycle/index.ts'
import { type Sql, sql } from '../../service/src/postgres/index.ts'
import { balanceOf, type Service } from '../support/composition.ts'

export type Payment = {
  readonly partnerId: string
  readonly table: 'payouts' | 'deposits'
  readonly reference: string
  readonly amount: bigint
  /** False: the partner's own, which has no event but that of its end. */
  readonly ofCustomer: boolean
}

type Transaction = {
  readonly status: string
  readonly errorKey: string | null
  readonly timeline: readonly string[]
  readonly events: readonly string[]
}
/** `refunds`: the transactions that name this one as their origin. */
export type Observation = {
  readonly status: string
  readonly transaction: Transaction
  readonly refunds: readonly Transaction[]
  readonly transfers: readonly string[]
  readonly posted: bigint
  readonly reserved: bigint
}

const statusIn = ({ table, partnerId, reference }: Payment): Sql =>
  table === 'payouts'
    ? sql`select status from payouts.payouts where partner_id = ${partnerId} and reference = ${reference}`
    : sql`select status from deposits.deposits where partner_id = ${partnerId} and reference = ${reference}`

async function transactionsWhere({ db }: Service, condition: Sql): Promise<readonly Transaction[]> {
  return db.rows<Transaction>(sql`
    select status, error_key,
      array(select entry ->> 'step' || ':' || (entry ->> 'status')
        from jsonb_array_elements(timeline) with ordinality as entries (entry, position) order by position) as timeline,
      array(select type from events.events as event
        where event.partner_id = transaction.partner_id and event.reference = transaction.reference
        order by id) as events
    from transactions.transactions as transaction where ${condition} order by id`)
}

export async function observe(service: Service, payment: Payment): Promise<Observation> {
  const { partnerId, reference } = payment
  const [row] = await service.db.rows<{ status: string }>(statusIn(payment))
  const own = sql`partner_id = ${partnerId} and reference = ${reference}`
  const [transaction] = await transactionsWhere(service, own)
  assert.ok(row && transaction)
  const transfers = await service.db.rows<{ kind: string }>(
    sql`select kind from ledger.transfers where partner_id = ${partnerId} order by id`,
  )
  const { posted, reserved } = await balanceOf(service, partnerId)
  return {
    status: row.status,
    transaction,
    refunds: await transactionsWhere(service, sql`partner_id = ${partnerId} and originating_reference = ${reference}`),
    transfers: transfers.map(({ kind }) => kind),
    posted,
    reserved,
  }
}

/** Observation before a payment begins: its partner has a balance from one transfer, or none. */
export const beforeBeginning = (posted: bigint): Observation => ({
  status: '',
  transaction: { status: 'Pending', errorKey: null, timeline: [], events: [] },
  refunds: [],
  transfers: posted === 0n ? [] : ['direct'],
  posted,
  reserved: 0n,
})

const changed = 'transaction.status.changed'
const refund: Transaction = {
  status: 'Completed',
  errorKey: null,
  timeline: ['Created:Pending', 'Settled:Completed', 'Credited:Completed'],
  events: [changed],
}
/** How many times the amount each effect adds to posted and reserved, and the kind of its transfer. */
const effects = {
  reserve: { posted: 0n, reserved: 1n, kind: 'reserve' },
  post: { posted: -1n, reserved: -1n, kind: 'post' },
  release: { posted: 0n, reserved: -1n, kind: 'release' },
  credit: { posted: 1n, reserved: 0n, kind: 'direct' },
  refund: { posted: 1n, reserved: 0n, kind: 'direct' },
} as const satisfies Readonly<Record<NonNullable<Transition['ledger']>, object>>

/** Prediction of the row. `errorKey`: the one that the trigger gives, for a row without its own. */
export function follow(before: Observation, row: Transition, payment: Payment, errorKey: string): Observation {
  const { transaction } = before
  const { concludes, ledger } = row
  const status = concludes ?? transaction.status
  const fails = row.concludes !== undefined && !['Completed', 'Cancelled'].includes(row.concludes)
  const effect = ledger === undefined ? undefined : effects[ledger]
  return {
    status: row.to,
    transaction: {
      status,
      errorKey: fails ? (row.errorKey ?? errorKey) : transaction.errorKey,
      timeline: [...transaction.timeline, ...row.steps.map((step) => `${step}:${status}`)],
      events: [
        ...transaction.events,
        ...(row.event !== undefined && payment.ofCustomer ? [row.event] : []),
        ...(concludes === undefined ? [] : [changed]),
      ],
    },
    refunds: ledger === 'refund' ? [...before.refunds, refund] : before.refunds,
    transfers: effect ? [...before.transfers, effect.kind] : before.transfers,
    posted: before.posted + (effect?.posted ?? 0n) * payment.amount,
    reserved: before.reserved + (effect?.reserved ?? 0n) * payment.amount,
  }
}
