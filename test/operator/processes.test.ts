/** `--processes`: several processes answer on one port, on the embedded database. */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { chmod, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { type Answer, type Call, createClient, type Json, success, textAt } from '../support/client.ts'
import { atEnd, useFolder } from '../support/fixture.ts'
import { halfRequest } from '../support/half-request.ts'
import { assertProblem } from '../support/problem.ts'
import { assertRefusal, freePortSettings, linesOf, run, start, stop } from '../support/program.ts'
import { createPartner, readCredentials } from '../support/service.ts'
import { until } from '../support/until.ts'
import { balanceOf, createBeneficiary, listAll, payoutText } from '../support/world.ts'

const dataDir = await useFolder()
// The embedded server runs as another user if this is root, and must reach its data folder.
await chmod(dataDir, 0o711)
const { PORT, OPS_PORT } = await freePortSettings()
/**
 * Pause between calls. Without it the callers use the processor time of the restarting processes, and each start takes
 * several times longer.
 */
const paceMs = 100
const limits = { RATE_PER_SECOND: '1000000', DATABASE_CONNECTIONS_MAX: '70' }
const env = { DATA_DIR: dataDir, PORT, OPS_PORT, LOG_LEVEL: 'info', ...limits }
const baseUrl = `http://127.0.0.1:${PORT}`

const startService = async () => {
  const program = await start(['serve', '--processes', '2'], env)
  await until('the welcome', () => program.stdout().includes('Ctrl-C'))
  return program
}
let service = await startService()
atEnd(() => stop(service))
const credentials = readCredentials(readFileSync(join(dataDir, 'sandbox-credentials.json'), 'utf8'))
const client = createClient(baseUrl, credentials)

type LogLine = { readonly process?: number; readonly pid?: number; readonly msg: string; readonly requestId?: string }
const logLines = () => linesOf(service.stderr()).map((line) => JSON.parse(line) as LogLine)
/** The newest pid of each process. */
const pids = () =>
  new Map(
    logLines()
      .filter(({ msg }) => msg === 'API process listens')
      .map(({ process: number, pid }) => {
        // A pid of 0 would make process.kill signal the group of this test.
        assert.ok(number !== undefined && pid !== undefined && pid > 0, 'the line names the process and its pid')
        return [number, pid]
      }),
  )
const endedProcesses = () => logLines().filter(({ msg }) => msg.startsWith('API process ended')).length
const isAlive = (pid: number) => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
const ask = async (path: string) => {
  const answer = await fetch(`http://127.0.0.1:${OPS_PORT}${path}`)
  return { status: answer.status, text: await answer.text() }
}

/** Sends batches of calls, each call on its own connection, until both processes answer calls of one batch. */
async function callBoth(calls: () => readonly Call[], check: (answers: readonly Answer[]) => void): Promise<void> {
  await until('both processes answer', async () => {
    const sent = calls().map((call) => ({ ...call, headers: { 'X-Request-Id': randomUUID() } }))
    const answers = await Promise.all(sent.map((call) => client.send(call)))
    check(answers)
    const ids = new Set<string>(sent.map(({ headers }) => headers['X-Request-Id']))
    const answered = () => logLines().filter(({ msg, requestId = '' }) => msg === 'answered' && ids.has(requestId))
    await until('a log line for each call', () => answered().length === ids.size)
    return new Set(answered().map((line) => line.process)).size === 2
  })
}

test('a start prints its welcome once, the credentials work, and metrics and logs cover all processes', async () => {
  assert.equal(linesOf(service.stdout()).filter((line) => line.includes('listens on')).length, 1)
  assert.deepEqual([...pids().keys()].sort(), [1, 2])
  // The embedded server accepts three pools of 70 connections.
  assert.equal(
    logLines().some(({ msg }) => msg.startsWith('the processes may open more')),
    false,
  )
  await callBoth(
    () => Array.from({ length: 8 }, () => ({ method: 'GET', target: '/v1/accounts' })),
    (answers) => answers.forEach((answer) => success(answer)),
  )
  const { text } = await ask('/metrics')
  const counted = text.split('\n').filter((line) => line.startsWith('payments_request_duration_seconds_count'))
  for (const number of [1, 2])
    assert.ok(
      counted.some((line) => line.includes('status="200"') && line.includes(`process="${number}"`)),
      `${number}`,
    )
  const starts = text.split('\n').filter((line) => line.startsWith('process_start_time_seconds{'))
  assert.deepEqual(starts.map((line) => /process="(\d)"/.exec(line)?.[1]).sort(), ['0', '1', '2'])
  success(await createClient(baseUrl, await createPartner('Second Partner', env)).get('/v1/accounts'))
})

test('a second service on the port is refused with one line', async () => {
  const other = { ...env, DATA_DIR: `${dataDir}-other`, OPS_PORT: '0', LOG_LEVEL: 'warn' }
  const ending = await run(['serve', '--processes', '2'], other)
  await rm(other.DATA_DIR, { recursive: true, force: true })
  assertRefusal(ending, `127.0.0.1:${PORT} is in use: choose another with PORT`)
})

test('200 for one request and 401 for the others when both processes receive the same nonce concurrently', () =>
  callBoth(
    () => {
      const nonce = randomUUID()
      return Array.from({ length: 8 }, () => ({ method: 'GET', target: '/v1/customers', nonce }))
    },
    (answers) => {
      assert.equal(answers.filter(({ status }) => status === 200).length, 1)
      for (const answer of answers.filter(({ status }) => status !== 200))
        assertProblem(answer, { status: 401, code: 'nonce_replayed' })
    },
  ))

test('200 with one payout and equal answers for concurrent duplicates at both processes', async () => {
  const beneficiary = textAt(await createBeneficiary(client), 'id')
  let rounds = 0
  const before = (await listAll(client, '/v1/payouts')).length
  await callBoth(
    () => {
      rounds += 1
      const body: Json = payoutText(beneficiary, '3.00')
      return Array.from({ length: 8 }, () => ({ method: 'POST', target: '/v1/payouts/fiat', body }))
    },
    (answers) => assert.equal(new Set(answers.map((answer) => success(answer) && answer.text)).size, 1),
  )
  assert.equal((await listAll(client, '/v1/payouts')).length, before + rounds)
})

test('a process killed under load loses no acknowledged payout and is restarted, while the other continues', async () => {
  const beneficiary = textAt(await createBeneficiary(client), 'id')
  const isSettled = async () => (await balanceOf(client)).reserved === 0n
  await until('earlier payouts settle', isSettled)
  const start = await balanceOf(client)
  const before = (await listAll(client, '/v1/payouts')).length
  const acknowledged = new Map<string, Answer>()
  const unanswered: string[] = []
  let going = true
  const loop = async () => {
    while (going) {
      const body = payoutText(beneficiary, '0.01')
      const answer = await client.post('/v1/payouts/fiat', body).catch((error: Error) => error)
      if (answer instanceof Error) {
        // The connection of a killed process is closed, so the request fails without a timeout.
        assert.doesNotMatch(answer.message, /no answer in/)
        unanswered.push(body)
      } else if (success(answer)) acknowledged.set(body, answer)
      await pause(paceMs)
    }
  }
  const loops = Promise.all(Array.from({ length: 16 }, loop))
  for (const number of [1, 2]) {
    const seen = acknowledged.size
    await until('more payouts are acknowledged', () => acknowledged.size > seen + 50)
    const pid = pids().get(number)
    assert.ok(pid !== undefined)
    process.kill(pid, 'SIGKILL')
    await until('the process is restarted', () => pids().get(number) !== pid)
    assert.equal((await ask('/readyz')).status, 200)
  }
  going = false
  await loops
  for (const [body, first] of acknowledged)
    assert.equal(
      textAt(success(await client.post('/v1/payouts/fiat', body)), 'reference'),
      textAt(first.json, 'reference'),
    )
  for (const body of unanswered) success(await client.post('/v1/payouts/fiat', body))
  const count = acknowledged.size + unanswered.length
  assert.equal((await listAll(client, '/v1/payouts')).length, before + count)
  assert.equal((await balanceOf(client)).available, start.available - BigInt(count))
})

test('503 for readiness while no process listens, then 200 and the same port', async () => {
  const ended = endedProcesses()
  for (const pid of pids().values()) process.kill(pid, 'SIGKILL')
  await until('both processes have ended', () => endedProcesses() === ended + 2)
  const answer = await ask('/readyz')
  assert.equal(answer.status, 503)
  assert.ok(answer.text.includes('no API process listens'), answer.text)
  await until('ready again', async () => (await ask('/readyz')).status === 200)
  success(await client.get('/v1/accounts'))
})

test('SIGTERM answers the request in flight, ends all processes, and the next start has all data', async () => {
  await until('both processes listen', async () =>
    (await ask('/metrics')).text.includes('process_start_time_seconds{process="2"}'),
  )
  const email = 'drain@example.com'
  const request = await halfRequest(baseUrl, credentials, '/v1/customers', { email })
  const children = [...pids().values()]
  service.signal('SIGTERM')
  await until('not ready while stopping', async () => (await ask('/readyz')).text.includes('stopping'))
  assert.match(await request.finish(), /HTTP\/1\.1 200 OK\r\n/)
  assert.equal((await service.ended).code, 0)
  for (const pid of children) assert.equal(isAlive(pid), false)
  service = await startService()
  assert.equal((await listAll(client, '/v1/customers'))[0]?.email, email)
})

test('after SIGKILL of the parent, its processes end', async () => {
  const children = [...pids().values()]
  assert.equal(children.filter(isAlive).length, 2)
  service.signal('SIGKILL')
  await service.ended
  await until('the processes have ended', () => !children.some(isAlive))
  service = await startService()
  success(await client.get('/v1/accounts'))
})
