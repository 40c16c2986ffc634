/**
 * The service with the example connector over real HTTP, a bank that fails at random, and workers that die and restart.
 * Finally every payout has its intended outcome, and the bank, the ledger and the events agree.
 * `MODEL_SEED=<seed> MODEL_RUNS=<count>` repeats a run or makes it longer.
 */
import { createRandom } from '../support/random.ts'
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { type Bank, startBank } from '../../examples/connector/bank.ts'
import { createExampleConnector } from '../../examples/connector/connector.ts'
import { Unreachable } from '../../service/src/kernel/api/index.ts'
import { minuteMs, newId, secondMs } from '../../service/src/kernel/index.ts'
import { sql } from '../../service/src/postgres/index.ts'
import { processBankNotifications, submitDuePayouts } from '../../service/src/banks/settlement/index.ts'
import { checkPayments, type Ends } from '../model/payments.ts'
import { addPartner, balanceOf, pay, type TestPartner } from '../support/composition.ts'
import { drawing } from '../support/drawing.ts'
import { useModules } from '../support/fixture.ts'
import { until } from '../support/until.ts'
import { hostile, type Storm, stormyWeather, WorkerDeath } from './hostile.ts'

/** The outcome by amount, as the example bank decides (examples/connector/records.ts). */
const ends = {
  '10.00': 'Completed',
  '0.01': 'Completed',
  '1234.56': 'Completed',
  '71.01': 'Failed',
  '71.02': 'Failed',
  '71.03': 'Returned',
  '71.04': 'Completed',
} as const
type Amount = keyof typeof ends
const amounts = Object.keys(ends) as [Amount, ...Amount[]]

const partnersCount = 5
const payoutsPerRound = 3
const stormRounds = 20
const roundsMax = 200
const floatMinor = 10_000_000n
/** A call that hangs ends soon. */
const callTimeoutMs = 400
/** Durations: none, longer than the first retry, than a lease, and than the longest retry. */
const waitsMs = [0, 2 * secondMs, 20 * secondMs, 10 * minuteMs] as const

const service = await useModules({ chooseConnector: () => 'example' })

type PayoutRequest = { readonly partner: TestPartner; readonly amount: Amount }
type Scene = {
  readonly storm: Storm
  readonly bank: Bank
  readonly partners: readonly TestPartner[]
  readonly made: Map<string, PayoutRequest>
  readonly ends: Ends
}

/** Creates a worker as after a restart: with its own connector and empty memory. */
function startWorker({ storm, bank }: Scene) {
  const connector = createExampleConnector({ url: bank.url })
  const limited = { ...connector, limits: { ...connector.limits, callTimeoutMs } }
  const deps = { ...service.settlement, connectors: [hostile(limited, storm)] }
  return {
    submit: () => submitDuePayouts(deps),
    // A failed read ends the step, and the loop of the worker begins the next step.
    process: () =>
      processBankNotifications(deps).catch((error: unknown) => {
        if (error instanceof Unreachable || error instanceof WorkerDeath) return 1
        throw error
      }),
  }
}

async function payMore({ storm: { random }, partners, made }: Scene): Promise<void> {
  for (let count = 0; count < payoutsPerRound; count += 1) {
    const partner = partners[random.number(partners.length)]
    assert.ok(partner)
    const amount = random.pick(amounts)
    const beneficiaryId = random.chance(0.3) ? partner.ownBeneficiary.id : partner.beneficiary.id
    const { payout } = await pay(service, partner, amount, { beneficiaryId, reference: `ref ${newId()}` })
    made.set(payout.id, { partner, amount })
  }
}

/** Runs concurrent workers while the bank fails, then without faults until no work is left. */
async function runScene(scene: Scene): Promise<number> {
  const { storm } = scene
  const { random } = storm
  let workers = [startWorker(scene), startWorker(scene)]
  for (let round = 1; ; round += 1) {
    assert.ok(round < roundsMax, 'every payout ends')
    storm.isOver = round > stormRounds
    if (!storm.isOver) await payMore(scene)
    if (random.chance(0.3)) workers = workers.map(() => startWorker(scene))
    const did = await Promise.all(workers.flatMap(({ submit, process }) => [submit(), process()]))
    if (storm.isOver) await checkAll(scene)
    if (storm.isOver && did.every((count) => count === 0) && (await countUnderWay(scene)) === 0) return round
    service.clock.advance(storm.isOver ? 10 * minuteMs : random.pick(waitsMs))
  }
}

async function countUnderWay({ partners }: Scene): Promise<number> {
  const rows = await service.db.rows(sql`
    select id from payouts.payouts where partner_id = any(${partners.map(({ partnerId }) => partnerId)}::uuid[])
      and status in ('Pending', 'Processing', 'Sent')`)
  return rows.length
}

async function checkAll({ partners, ends: seen }: Scene): Promise<void> {
  for (const { partnerId } of partners) await checkPayments(service.db, partnerId, seen)
}

async function checkEnds(scene: Scene): Promise<void> {
  const { made, bank, partners } = scene
  await checkAll(scene)
  const ids = partners.map(({ partnerId }) => partnerId)
  const rows = await service.db.rows<{ id: string; status: string; endToEndId: string; amount: bigint }>(sql`
    select id, status, end_to_end_id, amount from payouts.payouts where partner_id = any(${ids}::uuid[])`)
  assert.deepEqual(
    new Map(rows.map(({ id, status }) => [id, status])),
    new Map([...made].map(([id, { amount }]) => [id, ends[amount]])),
    'each payout has the end that it was made for',
  )
  const orders = Map.groupBy(bank.statement(), ({ endToEnd }) => endToEnd)
  assert.equal(orders.size, rows.length, 'the bank has each instruction, and no other')
  for (const { id, endToEndId } of rows) {
    const [order, ...others] = orders.get(endToEndId) ?? []
    const amount = made.get(id)?.amount
    assert.ok(order && others.length === 0, 'the bank has the instruction once')
    assert.equal(order.timesExecuted, amount === '71.01' ? 0 : 1, 'the bank executed it once, unless it refused it')
    assert.equal(order.amount, amount)
  }
  await checkMoney(scene)
}

const minorOf = (text: string) => BigInt(text.replace('.', ''))
const sum = (list: readonly bigint[]) => list.reduce((total, each) => total + each, 0n)

/** Checks the settlement account against the bank's statement, and each balance against its payouts. */
async function checkMoney({ made, bank, partners }: Scene): Promise<void> {
  for (const partner of partners) {
    const { partnerId } = partner
    const own = bank.statement().filter(({ onBehalfOf, isPaid }) => isPaid && onBehalfOf === partnerId)
    const atBank = sum(own.map(({ amount }) => minorOf(amount)))
    const account = await service.db.row<{ posted: bigint }>(sql`
      select posted from ledger.accounts where partner_id = ${partnerId} and name = 'settlement.example'`)
    assert.equal(account?.posted ?? 0n, atBank, 'the ledger agrees with the statement of the bank')
    const paid = [...made.values()].filter((each) => each.partner === partner && ends[each.amount] === 'Completed')
    assert.equal(atBank, sum(paid.map(({ amount }) => minorOf(amount))))
    const posted = floatMinor - atBank
    assert.deepEqual(await balanceOf(service, partnerId), { posted, reserved: 0n, available: posted })
  }
}

async function checkSeed(t: TestContext, seed: number): Promise<void> {
  const storm: Storm = { random: createRandom(seed), isOver: false, counts: new Map() }
  const bank = await startBank(stormyWeather(storm))
  try {
    const partners = await Promise.all(Array.from({ length: partnersCount }, () => addPartner(service, floatMinor)))
    const scene: Scene = { storm, bank, partners, made: new Map(), ends: new Map() }
    const rounds = await runScene(scene)
    await checkEnds(scene)
    await until('calls that were given up hold no connection', () => bank.openCalls() === 0)
    const faults = [...storm.counts].map(([name, count]) => `${count} ${name}`).join(', ')
    t.diagnostic(`seed ${seed}: ${scene.made.size} payouts, ${rounds} rounds, ${faults}`)
    assert.ok(storm.counts.size >= 8, `hardly a fault: ${faults}`)
  } finally {
    await bank.close()
  }
}

test('however the bank and the workers fail, every payout ends correctly, and bank, ledger and events agree', async (t) => {
  const { seed, numRuns } = drawing(t, 2)
  for (let run = 0; run < numRuns; run += 1) await checkSeed(t, seed + run)
})
