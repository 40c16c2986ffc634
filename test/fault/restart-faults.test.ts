/** Rolling restarts behind a proxy while signed payouts arrive: every request is answered, and no connection is reset. */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type Backend, type Balancer, startBalancer } from '../support/balancer.ts'
import { type Client, createClient, success, textAt } from '../support/client.ts'
import { scaled } from '../support/faults.ts'
import { atEnd, untilEnd, useDatabase, useFolder } from '../support/fixture.ts'
import { freePortSettings, linesOf, type Program, start, stop } from '../support/program.ts'
import { createPartner } from '../support/service.ts'
import { until } from '../support/until.ts'
import { balanceOf, createBeneficiary, payoutText } from '../support/world.ts'

/** The short form restarts each of two instances once. */
const restarts = scaled(2, 20)
const callers = 6
/** Each caller has this many answers between two restarts. */
const answersOfCaller = scaled(5, 10)
/**
 * The pace of a caller. Without one the callers take all processor time from the processes that start, which makes each start several
 * times longer and tests nothing more. The long form has none.
 */
const paceMs = scaled(300, 0)
const dataDir = await useFolder()
const database = await useDatabase()
const shared = {
  DATABASE_URL: database.url,
  MASTER_KEY: randomBytes(32).toString('base64'),
  STOP_DELAY_MS: '1500',
  RATE_PER_SECOND: '1000000',
  LOG_LEVEL: 'info',
}
const credentials = await createPartner('Restarts', { ...shared, LOG_LEVEL: 'warn' })

type Instance = Backend & {
  readonly restart: () => Promise<void>
  readonly stop: () => Promise<void>
  readonly program: () => Program
}

async function startInstance(
  words: readonly string[],
  given: Readonly<Record<string, string>> = {},
): Promise<Instance> {
  const { PORT, OPS_PORT } = await freePortSettings()
  const env = { ...shared, DATA_DIR: dataDir, PORT, OPS_PORT, ...given }
  let program = await start(words, env)
  // After a failed test: a program that has ended ignores the signal.
  atEnd(() => program.signal('SIGKILL'))
  const stopIt = async () => {
    const { code, stderr } = await stop(program)
    assert.equal(code, 0, stderr)
  }
  return {
    url: `http://127.0.0.1:${PORT}`,
    opsUrl: `http://127.0.0.1:${OPS_PORT}`,
    restart: async () => {
      await stopIt()
      program = await start(words, env)
    },
    stop: stopIt,
    program: () => program,
  }
}

/** Sends payouts until `work` has ended. Returns the number of payouts; each was answered with 200. */
async function payWhile(client: Client, work: () => Promise<void>): Promise<number> {
  const beneficiary = textAt(await createBeneficiary(client), 'id')
  const { available } = await balanceOf(client)
  let going = true
  let answered = 0
  const pay = async () => {
    while (going) {
      success(await client.post('/v1/payouts/fiat', payoutText(beneficiary, '0.01')))
      answered += 1
      if (paceMs > 0) await pause(paceMs)
    }
  }
  const paying = Promise.all(Array.from({ length: callers }, pay))
  await Promise.race([paying, work()]).finally(() => {
    going = false
  })
  await paying
  assert.equal((await balanceOf(client)).available, available - BigInt(answered))
  return answered
}

/** Waits until payouts are answered through the balancer, so that each restart happens under load. */
const underLoad = (balancer: Balancer) => {
  const before = balancer.answered()
  return until('more requests are answered', () => balancer.answered() > before + answersOfCaller * callers)
}

async function restartInTurn(instances: readonly Instance[], balancer: Balancer): Promise<void> {
  for (let count = 0; count < restarts; count += 1) {
    await underLoad(balancer)
    await instances[count % instances.length]?.restart()
  }
  await underLoad(balancer)
}

function assertNoFailure(balancer: Balancer, payouts: number): void {
  assert.deepEqual(balancer.failures, [])
  assert.ok(payouts > restarts * callers)
  assert.ok(balancer.reused() > balancer.answered() / 2, 'the balancer keeps connections')
}

for (const words of [['serve'], ['serve', '--processes', '2']])
  test(`no request fails during rolling restarts of two instances of: ${words.join(' ')}`, async (t) => {
    const instances = [await startInstance(words), await startInstance(words)]
    const balancer = untilEnd(await startBalancer(instances))
    const payouts = await payWhile(createClient(balancer.url, credentials), () => restartInTurn(instances, balancer))
    t.diagnostic(`${restarts} restarts, ${payouts} payouts`)
    assertNoFailure(balancer, payouts)
    await Promise.all(instances.map((instance) => instance.stop()))
  })

test('no request fails during rolling restarts of two gateways and of the two api processes behind them', async (t) => {
  const apis = [await startInstance(['api']), await startInstance(['api'])]
  const inner = untilEnd(await startBalancer(apis))
  const toApi = { API_URL: inner.url }
  const gateways = [await startInstance(['gateway'], toApi), await startInstance(['gateway'], toApi)]
  const outer = untilEnd(await startBalancer(gateways))
  const payouts = await payWhile(createClient(outer.url, credentials), async () => {
    await restartInTurn(apis, outer)
    await restartInTurn(gateways, outer)
  })
  t.diagnostic(`${2 * restarts} restarts, ${payouts} payouts`)
  assert.deepEqual(inner.failures, [])
  assertNoFailure(outer, payouts)
  await Promise.all(gateways.map((instance) => instance.stop()))
  await Promise.all(apis.map((instance) => instance.stop()))
})

test('no request fails while SIGUSR2 replaces the processes of one instance in turn', async (t) => {
  const instance = await startInstance(['serve', '--processes', '2'])
  const balancer = untilEnd(await startBalancer([instance]))
  const lines = (message: string) =>
    linesOf(instance.program().stderr()).filter((line) => line.includes(message)).length
  const rounds = scaled(1, 4)
  const payouts = await payWhile(createClient(balancer.url, credentials), async () => {
    for (let round = 1; round <= rounds; round += 1) {
      await underLoad(balancer)
      instance.program().signal('SIGUSR2')
      await until('all processes are replaced', () => lines('API processes restarted') === round)
    }
    await underLoad(balancer)
  })
  t.diagnostic(`${rounds} rounds, ${payouts} payouts`)
  assertNoFailure(balancer, payouts)
  assert.equal(lines('"API process listens"'), 2 + 2 * rounds)
  await instance.stop()
})
