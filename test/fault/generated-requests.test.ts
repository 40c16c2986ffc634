/**
 * Generated requests against a running service: each answer is a success or a documented refusal, none is a fault of the
 * service, and the ledger agrees with its transfers afterwards. `npm run test:faults -- generated-requests` sends 100,000.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Answer, type Client, nowSeconds, textAt } from '../support/client.ts'
import { drawSeed } from '../support/drawing.ts'
import { scaled } from '../support/faults.ts'
import { untilEnd, useService } from '../support/fixture.ts'
import { generate, type GeneratedRequest } from '../support/generated-requests.ts'
import { assertProblem } from '../support/problem.ts'
import { run } from '../support/program.ts'
import { createRandom } from '../support/screening/corpus.ts'
import { otherPartner } from '../support/service.ts'
import { startEndpoint } from '../support/webhooks.ts'
import { createWorld } from '../support/world.ts'

const service = await useService({ env: { SANDBOX_BANK_DELAY_MS: '20' } })
const hook = untilEnd(await startEndpoint())

const requests = scaled(2_000, 100_000)
const inFlight = 16
/** Requests after which a new partner sends them. */
const requestsPerWorld = 5_000
/** Answers above 499 that say what the service lacks, not that it failed. */
const unavailable = new Set(['iban_pool_exhausted', 'overloaded', 'fx_rates_unavailable'])

/** A new partner with one resource of each kind: the requests before may have used up what a partner may have. */
async function createActor() {
  const credentials = await service.operator('partner', 'create', '--name', 'Generated')
  const client = service.clientOf(credentials)
  const partnerId = textAt(credentials, 'partnerId')
  return { client, world: await createWorld(client, hook.url, { ...service, credentials: { partnerId } }) }
}

/** Says why the answer is wrong. Undefined: it is a success or a refusal of the documented form. */
function faultOf({ call: { method } }: GeneratedRequest, answer: Answer): string | undefined {
  // An answer to HEAD has no body.
  if (method === 'HEAD') return answer.status >= 500 ? 'status' : undefined
  if (answer.status < 400) return undefined
  try {
    const { code } = assertProblem(answer, { status: answer.status })
    return answer.status >= 500 && !unavailable.has(String(code)) ? 'status' : undefined
  } catch (error) {
    return String(error)
  }
}

test(`${requests} generated requests get no 500 response, and the ledger is correct afterwards`, async (t) => {
  const random = createRandom(drawSeed(t))
  let actor = createActor()
  const stranger = await otherPartner(service)
  const statuses = new Map<number, number>()
  const faults: string[] = []
  let sent = 0
  const send = async (client: Client, generated: GeneratedRequest): Promise<void> => {
    sent += 1
    // Not behind the last request: the test would end while the partner is being created.
    if (sent < requests && sent % requestsPerWorld === 0) actor = createActor()
    const { call, mutation } = generated
    const answer = await client.send({ ...call, timestamp: String(nowSeconds()) })
    statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
    const fault = faultOf(generated, answer)
    if (fault !== undefined) faults.push(`${mutation}: ${fault} ${answer.status} ${answer.text}\n  to ${answer.asked}`)
  }
  const worker = async () => {
    while (sent < requests && faults.length < 20) {
      const { client, world } = await actor
      const generated = generate(random, world)
      // The same request twice at once, and by a partner that owns none of what it names.
      const copies = random() < 0.1 ? [client, client, stranger] : [client]
      await Promise.all(copies.map((client) => send(client, generated)))
    }
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
  t.diagnostic(
    [...statuses]
      .toSorted(([a], [b]) => a - b)
      .map(([status, count]) => `${status}: ${count}`)
      .join(', '),
  )
  assert.deepEqual(faults, [])
  assert.ok((statuses.get(200) ?? 0) > requests / 10, 'many requests succeed')
  const env = { DATA_DIR: service.dataDir, DATABASE_URL: service.databaseUrl }
  const checked = await run(['operator', 'ledger', 'check'], env)
  assert.deepEqual([checked.code, checked.stderr], [0, ''], checked.stdout)
  assert.match(checked.stdout, /^0 findings$/m)
})
