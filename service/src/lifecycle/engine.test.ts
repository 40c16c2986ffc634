/**
 * The engine and the checks of tables, including invalid tables. Uses no database, because the engine runs no statement
 * itself.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createManualClock } from '../../../test/support/clock.ts'
import { AssertionFailure, newId } from '../kernel/index.ts'
import type { Tx } from '../postgres/index.ts'
import { createEngine, createLifecycle } from './engine.ts'

const row = { cause: 'A test.', steps: [] } as const
const lifecycle = createLifecycle({
  subject: 'order',
  statuses: ['New', 'Packed', 'Sent', 'Lost'],
  transitions: {
    open: { ...row, from: [], to: 'New', by: ['partner'], on: ['opened'] },
    pack: { ...row, from: ['New'], to: 'Packed', by: ['worker'], on: ['packed'] },
    send: { ...row, from: ['Packed'], to: 'Sent', by: ['worker', 'bank'], on: ['sent'], impliedBy: ['arrived'] },
    lose: { ...row, from: ['Sent'], to: 'Lost', by: ['bank'], on: ['arrived'] },
    expire: { ...row, from: ['New'], to: 'Lost', by: ['time'], on: ['expired'] },
  },
  reports: { repeat: { arrived: ['Lost'] }, early: { arrived: ['New'] } },
})
type Status = (typeof lifecycle.statuses)[number]
type Kind = (typeof lifecycle.triggers)[number]
type Order = { readonly partnerId: string; readonly id: string; status: Status }
const actors = ['partner', 'worker', 'bank', 'time', 'operator'] as const
type Trigger = { readonly kind: Kind; readonly actor: (typeof actors)[number]; readonly holds?: boolean }

const partnerId = newId()
const tx = {} as Tx
const clock = createManualClock(new Date('2026-01-01T00:00:00Z'))

function createOrders(...statuses: readonly Status[]) {
  const orders = statuses.map((status): Order => ({ partnerId, id: newId(), status }))
  const written: string[][] = []
  const apply = createEngine({
    clock,
    lifecycle,
    lock: (_tx, keys: readonly { readonly id: string }[]) => {
      clock.advance(1000)
      return Promise.resolve(
        orders.filter(({ id }) => keys.some((key) => key.id === id)).map((order) => ({ ...order })),
      )
    },
    actorOf: ({ actor }: Trigger) => actor,
    holds: (_order, { holds = true }) => holds,
    write: (_tx, moves, now) => {
      written.push(moves.map(({ name }) => name))
      assert.deepEqual(now, clock.now(), 'the time is taken after the locks')
      for (const {
        row: { id },
        transition,
      } of moves)
        for (const order of orders) if (order.id === id) order.status = transition.to
      return Promise.resolve()
    },
  })
  const send = (...triggers: readonly (Trigger & { readonly at?: number })[]) =>
    apply(
      tx,
      triggers.map(({ at = 0, ...trigger }) => ({ key: { partnerId, id: orders[at]?.id ?? newId() }, trigger })),
    )
  return { orders, written, send }
}

test('a trigger makes the transition of its row, and a duplicate changes nothing', async () => {
  const { orders, written, send } = createOrders('New')
  assert.deepEqual(await send({ kind: 'expired', actor: 'time' }), [true])
  assert.deepEqual(await send({ kind: 'expired', actor: 'time' }), [false])
  assert.deepEqual([orders[0]?.status, written], ['Lost', [['expire']]])
})

test('a trigger whose condition is false under the lock changes nothing', async () => {
  const { orders, written, send } = createOrders('New', 'Sent')
  assert.deepEqual(await send({ kind: 'packed', actor: 'worker', holds: false }), [false])
  assert.deepEqual(await send({ kind: 'packed', actor: 'worker', holds: false, at: 1 }), [false])
  assert.deepEqual([orders.map(({ status }) => status), written], [['New', 'Sent'], []])
})

test('transitions of one batch are written together; a second trigger of a payment is deferred', async () => {
  const { written, send } = createOrders('New', 'New', 'Sent')
  const packed = { kind: 'packed', actor: 'worker' } as const
  assert.deepEqual(await send(packed, { ...packed, at: 1 }, packed, { kind: 'expired', actor: 'time', at: 2 }), [
    true,
    true,
    'deferred',
    false,
  ])
  assert.deepEqual(written, [['pack', 'pack']])
})

test('a trigger that implies an earlier transition applies it first, and applies its own when it is repeated', async () => {
  const { orders, written, send } = createOrders('Packed')
  assert.deepEqual(await send({ kind: 'arrived', actor: 'bank' }), ['deferred'])
  assert.equal(orders[0]?.status, 'Sent')
  assert.deepEqual(await send({ kind: 'arrived', actor: 'bank' }), [true])
  assert.deepEqual(written, [['send'], ['lose']])
})

test('a transition by a wrong actor fails, and its whole batch is discarded', async () => {
  const cases = [
    { status: 'New', kind: 'packed', allowed: ['worker'] },
    { status: 'New', kind: 'expired', allowed: ['time'] },
    { status: 'Packed', kind: 'sent', allowed: ['worker', 'bank'] },
    { status: 'Sent', kind: 'arrived', allowed: ['bank'] },
  ] as const
  for (const { status, kind, allowed } of cases)
    for (const actor of actors) {
      const { orders, written, send } = createOrders(status, 'New')
      const sending = send({ kind: 'expired', actor: 'time', at: 1 }, { kind, actor })
      if (allowed.some((each) => each === actor)) assert.deepEqual(await sending, [true, true])
      else {
        await assert.rejects(sending, AssertionFailure, `${kind} by ${actor}`)
        assert.deepEqual([orders.map((order) => order.status), written], [[status, 'New'], []])
      }
    }
})

test('a trigger that contradicts the status fails for a worker under its lease, and is ignored for time and partners', async () => {
  const { send } = createOrders('Lost')
  await assert.rejects(send({ kind: 'sent', actor: 'worker' }), AssertionFailure)
  for (const actor of ['time', 'partner'] as const)
    assert.deepEqual(await send({ kind: 'sent', actor }), [false], actor)
})

test('the table classifies a bank report without a transition as a repetition, as early or as a contradiction', async () => {
  const { send, written } = createOrders('Lost', 'New', 'Packed')
  const arrived = { kind: 'arrived', actor: 'bank' } as const
  assert.deepEqual(await send(arrived), [false])
  assert.deepEqual(await send({ ...arrived, at: 1 }), ['early'])
  assert.deepEqual(await send({ kind: 'sent', actor: 'bank' }), ['contradiction'])
  assert.deepEqual(written, [])
})

test('a trigger for an unknown payment fails, except from a bank', async () => {
  await assert.rejects(createOrders().send({ kind: 'packed', actor: 'worker' }), AssertionFailure)
  assert.deepEqual(await createOrders().send({ kind: 'arrived', actor: 'bank' }), ['unknown'])
})

test('a table that both applies and ignores a report in the same status is refused', () => {
  const transitions = { send: { ...row, from: ['New'], to: 'Sent', by: ['bank'], on: ['sent'] } } as const
  const make = (reports: { repeat: Record<string, ['New']>; early: Record<string, ['New']> }) =>
    createLifecycle({ subject: 'order', statuses: ['New', 'Sent'], transitions, reports })
  assert.throws(() => make({ repeat: { sent: ['New'] }, early: {} }), AssertionFailure)
  assert.throws(() => make({ repeat: {}, early: { sent: ['New'] } }), AssertionFailure)
})

test('a table with two transitions for one status and trigger is refused', () => {
  const make = (from: 'New' | 'Sent') =>
    createLifecycle({
      subject: 'order',
      statuses: ['New', 'Sent'],
      transitions: {
        send: { ...row, from: ['New'], to: 'Sent', by: ['worker'], on: ['sent'] },
        resend: { ...row, from: [from], to: 'Sent', by: ['worker'], on: ['resent'], impliedBy: ['sent'] },
      },
    })
  assert.throws(() => make('New'), AssertionFailure)
  assert.deepEqual(make('Sent').triggers, ['sent', 'resent'])
})
