import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { addPartner, createTestService, type Service, stepMsDefault } from '../../../../test/support/composition.ts'
import { Unreachable } from '../../api/index.ts'
import { newId } from '../../kernel/index.ts'
import { sql } from '../../postgres/index.ts'
import type { Instruction } from '../port.ts'
import { createSandboxBank } from './service.ts'
import { behaviourOf, magicAmounts, noticesOfDeposit, noticesOfInstruction } from './script.ts'

let service: Service
let partnerId: string
before(async () => {
  service = await createTestService()
  ;({ partnerId } = await addPartner(service))
})
after(() => service.close())

const instruction = (fields: Partial<Instruction> = {}): Instruction => ({
  ...{ partnerId, id: newId(), endToEndId: 'E2E', amount: 1000n, currency: 'EUR', creditorName: 'Grace Hopper' },
  ...{ creditorAccount: 'DE89370400440532013000', creditorBic: null, remittance: null, simulatedOutcome: null },
  ...fields,
})
const kindOf = (fields: Partial<Instruction>) => behaviourOf(instruction(fields)).kind

test('an exact amount or a name decides, a wish before both, and everything else settles', () => {
  assert.equal(kindOf({}), 'settle')
  assert.equal(kindOf({ amount: 400_101n }), 'reject')
  assert.equal(kindOf({ amount: 400_105n, currency: 'USD' }), 'return')
  assert.equal(kindOf({ amount: 400_100n }), 'settle')
  assert.equal(kindOf({ amount: 4_001_010_000n, currency: 'USDC' }), 'settle')
  assert.equal(kindOf({ creditorName: ' SANDBOX Invalid account ' }), 'refuse')
  assert.equal(kindOf({ creditorName: 'Sandbox toString' }), 'settle')
  assert.equal(kindOf({ amount: 400_101n, simulatedOutcome: 'completed' }), 'settle')
  assert.equal(kindOf({ simulatedOutcome: 'sent' }), 'stay-sent')
  assert.equal(Object.keys(magicAmounts).length, 7)
})

test('what it will tell, step by step', () => {
  const kinds = (notices: readonly { readonly kind: string }[]) => notices.map(({ kind }) => kind)
  assert.deepEqual(kinds(noticesOfInstruction(behaviourOf(instruction({ amount: 400_105n })))), [
    ...['payout.settled', 'payout.returned'],
  ])
  assert.deepEqual(noticesOfInstruction(behaviourOf(instruction({ amount: 400_107n }))), [])
  assert.deepEqual(noticesOfDeposit('expired'), [])
  for (const outcome of ['completed', 'failed'] as const) {
    const steps = noticesOfDeposit(outcome).map(({ afterSteps }) => afterSteps)
    assert.deepEqual(steps, [...new Set(steps)].toSorted(), 'one after another')
  }
})

test('told the same ten times at once it does it once, answers each the same, and remembers', async () => {
  const given = instruction({ amount: 400_102n })
  const answers = await Promise.all(Array.from({ length: 10 }, () => service.bank.instruct(given)))
  const [first] = answers
  assert.ok(first && !first.accepted && first.errorKey === 'InvalidAccountDetails')
  for (const answer of answers) assert.deepEqual(answer, first)
  assert.deepEqual(await service.bank.find(partnerId, given.id), first)
  const row = await service.db.row<{ timesReceived: number }>(sql`
    select times_received from rails.sandbox_instructions where partner_id = ${partnerId} and id = ${given.id}`)
  assert.equal(row?.timesReceived, 10)
  assert.equal(await service.bank.find(partnerId, newId()), undefined)
})

test('turned away twice it has heard of nothing; the third try arrives', async () => {
  const given = instruction({ amount: 400_106n })
  for (const _try of [1, 2]) await assert.rejects(service.bank.instruct(given), Unreachable)
  assert.equal(await service.bank.find(partnerId, given.id), undefined)
  assert.deepEqual(await service.bank.instruct(given), { accepted: true })
})

test('a notice comes in its time, again and again until it is acknowledged, also to a bank that was started anew', async () => {
  const { db, clock } = service
  const own = await addPartner(service)
  const given = instruction({ partnerId: own.partnerId, amount: 400_105n })
  await service.bank.instruct(given)
  const unprepared = createSandboxBank({ db, clock, stepMs: stepMsDefault })
  const mine = async () => (await unprepared.notices(100)).filter((notice) => notice.partnerId === own.partnerId)
  assert.deepEqual(await mine(), [])
  clock.advance(2 * stepMsDefault)
  const told = await mine()
  assert.deepEqual(
    told.map(({ kind }) => kind),
    ['payout.settled', 'payout.returned'],
  )
  assert.deepEqual(await mine(), told)
  await unprepared.acknowledge(told.slice(0, 1))
  assert.deepEqual(await mine(), told.slice(1))
})
