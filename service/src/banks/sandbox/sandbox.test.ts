/** The sandbox bank. */
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { addPartner, balanceOf, pay, stepMsDefault } from '../../../../test/support/composition.ts'
import { useModules } from '../../../../test/support/fixture.ts'
import { minuteMs, newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import type { Instruction } from '../../rails/index.ts'
import { createSandboxBank } from './service.ts'
import { chooseBehaviour, magicAmounts, planDeposit, planInstruction } from './script.ts'
import { submitDuePayouts } from '../settlement/index.ts'

suite('outcomes', async () => {
  const service = await useModules()
  const { partnerId } = await addPartner(service)

  const instruction = (fields: Partial<Instruction> = {}): Instruction => ({
    partnerId,
    id: newId(),
    endToEndId: 'E2E',
    amount: 1000n,
    currency: 'EUR',
    creditorName: 'Grace Hopper',
    creditorAccount: 'DE89370400440532013000',
    creditorBic: null,
    remittance: null,
    simulatedOutcome: null,
    ...fields,
  })
  const money = { currency: 'EUR', amount: 1000n } as const
  const instruct = async (submitted: Instruction) => (await service.bank.instruct([submitted]))[0]
  const find = async (id: string) => (await service.bank.find([{ partnerId, id }]))[0]
  const kindOf = (fields: Partial<Instruction>) => chooseBehaviour(instruction(fields)).kind

  test('the behaviour is selected by the simulated outcome, then the exact amount, then the creditor name; the default settles', () => {
    assert.equal(kindOf({}), 'settle')
    assert.equal(kindOf({ amount: 400_101n }), 'reject')
    assert.equal(kindOf({ amount: 400_105n, currency: 'USD' }), 'return')
    assert.equal(kindOf({ amount: 400_100n }), 'settle')
    assert.equal(kindOf({ amount: 4_001_010_000n, currency: 'USDC' }), 'settle')
    assert.equal(kindOf({ creditorName: ' SANDBOX Invalid account ' }), 'refuse')
    assert.equal(kindOf({ creditorName: 'Sandbox toString' }), 'settle')
    assert.equal(kindOf({ amount: 400_101n, simulatedOutcome: 'completed' }), 'settle')
    assert.equal(kindOf({ simulatedOutcome: 'sent' }), 'stay-sent')
    assert.equal(Object.keys(magicAmounts).length, 11)
  })

  test('the notifications of each behaviour and outcome arrive in order', () => {
    const kinds = (notifications: readonly { readonly kind: string }[]) => notifications.map(({ kind }) => kind)
    assert.deepEqual(kinds(planInstruction(chooseBehaviour(instruction({ amount: 400_105n })), money)), [
      'payout.settled',
      'payout.returned',
    ])
    assert.deepEqual(planInstruction(chooseBehaviour(instruction({ amount: 400_107n })), money), [])
    assert.deepEqual(planDeposit('expired', money), [])
    for (const outcome of ['completed', 'failed'] as const) {
      const steps = planDeposit(outcome, money).map(({ afterSteps }) => afterSteps)
      assert.deepEqual(steps, [...new Set(steps)].toSorted(), 'one after another')
    }
  })

  test('ten concurrent submissions of one instruction execute it exactly once and get the same acknowledgement', async () => {
    const submitted = instruction({ amount: 400_102n })
    const answers = await Promise.all(Array.from({ length: 10 }, () => instruct(submitted)))
    const [first] = answers
    assert.ok(first && first !== 'unknown' && !first.accepted && first.errorKey === 'InvalidAccountDetails')
    for (const answer of answers) assert.deepEqual(answer, first)
    assert.deepEqual(await find(submitted.id), first)
    const row = await service.db.row<{ timesReceived: number }>(sql`
    select times_received from rails.sandbox_instructions where partner_id = ${partnerId} and id = ${submitted.id}`)
    assert.equal(row?.timesReceived, 10)
    assert.equal(await find(newId()), undefined)
  })

  test('an unreachable bank stores nothing from two attempts, and accepts the third', async () => {
    const submitted = instruction({ amount: 400_106n })
    for (const _attempt of [1, 2]) assert.equal(await instruct(submitted), 'unknown')
    assert.equal(await find(submitted.id), undefined)
    assert.deepEqual(await instruct(submitted), { accepted: true })
  })

  test('a notification is repeated from its due time until it is acknowledged, also after a restart of the bank', async () => {
    const { db, clock } = service
    const partner = await addPartner(service)
    const submitted = instruction({ partnerId: partner.partnerId, amount: 400_105n })
    await instruct(submitted)
    const restarted = createSandboxBank({ db, clock, stepMs: stepMsDefault })
    const unacknowledged = async () =>
      (await restarted.notifications(100)).filter(({ partnerId: id }) => id === partner.partnerId)
    assert.deepEqual(await unacknowledged(), [])
    clock.advance(2 * stepMsDefault)
    const first = await unacknowledged()
    assert.deepEqual(
      first.map(({ kind }) => kind),
      ['payout.settled', 'payout.returned'],
    )
    assert.deepEqual(await unacknowledged(), first)
    await restarted.acknowledge(first.slice(0, 1))
    assert.deepEqual(await unacknowledged(), first.slice(1))
  })
})

suite('delayed payouts', async () => {
  const service = await useModules()

  test('a payout of 4001.15 remains Pending for a minute, can be cancelled meanwhile, and is sent afterwards', async () => {
    const partner = await addPartner(service, 1_000_000n)
    const { partnerId } = partner
    const [cancelled, kept] = [await pay(service, partner, '4001.15'), await pay(service, partner, '4001.15')]
    const statusOf = async ({ payout: { id } }: typeof kept) => (await service.payouts.get(partnerId, id)).status
    service.clock.advance(minuteMs - 1)
    await submitDuePayouts(service.settlement)
    assert.equal(await statusOf(kept), 'Pending')
    assert.equal((await service.payouts.cancel(partnerId, cancelled.payout.id)).status, 'Cancelled')
    assert.equal((await balanceOf(service, partnerId)).reserved, 400_115n)
    service.clock.advance(1)
    await submitDuePayouts(service.settlement)
    assert.deepEqual([await statusOf(cancelled), await statusOf(kept)], ['Cancelled', 'Sent'])
  })
})
