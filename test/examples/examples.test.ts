/** The examples of the reference are complete, conform to the contract, and match what the service returns. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import {
  eventNames,
  events,
  type Operation,
  operationIds,
  operations,
  parseJsonExactly,
  Problem,
  type ProblemCode,
  problems,
  type TSchema,
} from '@partner-payments/wire'
import { Compile } from 'typebox/compile'
import type { Examples } from '../../scripts/generate/examples.ts'
import { createTestDatabase, oldestMissing, startOldestServer } from '../support/postgres.ts'
import { normalise, outlineOf } from './normalise.ts'
import { recordExamples } from './record.ts'

const text = readFileSync(new URL('../../wire/examples.json', import.meta.url), 'utf8')
const committed = parseJsonExactly(text) as Examples

function assertValid(schema: TSchema | undefined, value: unknown, where: string): void {
  if (schema === undefined) return assert.equal(value, undefined, where)
  const compiled = Compile(schema)
  assert.ok(compiled.Check(value), `${where}: ${JSON.stringify(compiled.Errors(value))}`)
}

/** Checks that every operation, event and problem has an example, and that each example conforms to its schema. */
function assertExamples(examples: Examples): void {
  for (const id of operationIds) {
    const { body, bodyOptional, response }: Operation = operations[id]
    const example = examples.operations[id]
    assert.ok(example, `${id} has no example: run \`npm run generate -- --examples\``)
    if (example.request.body !== undefined || bodyOptional !== true)
      assertValid(body, example.request.body, `the request of ${id}`)
    assertValid(response, example.response.body, `the response of ${id}`)
  }
  for (const name of eventNames) {
    const delivery = examples.events[name] as {
      readonly eventId: string
      readonly data: { readonly eventType: string }
    }
    assert.ok(delivery, `${name} has no example`)
    assert.equal(delivery.data.eventType, name)
    assertValid(events[name].data, delivery.data, name)
  }
  for (const code of Object.keys(problems) as ProblemCode[]) {
    assert.ok(examples.problems[code], `${code} has no example: provoke it in test/examples/provoke.ts`)
    assertValid(Problem, examples.problems[code], code)
  }
}

test('every operation, event and problem has an example that conforms to the contract', () => assertExamples(committed))

/** Runs every operation on the oldest PostgreSQL, where npm has installed it, because the other tests run on the newest. */
async function recordOnOldest(): Promise<string> {
  if (oldestMissing) return recordExamples()
  const server = await startOldestServer()
  try {
    const { url } = await createTestDatabase(server.templateUrl)
    return await recordExamples({ DATABASE_URL: url })
  } finally {
    await server.stop()
  }
}

test('the service still accepts every example request and causes every example problem', async () => {
  const fresh = await recordOnOldest()
  assertExamples(parseJsonExactly(fresh) as Examples)
  const requests = (recorded: string) => {
    const { operations: recordedOperations, problems: recordedProblems } = parseJsonExactly(recorded) as Examples
    const bodies = Object.entries(recordedOperations).map(([id, { request }]) => [id, request.body ?? null])
    return outlineOf(JSON.stringify({ bodies: Object.fromEntries(bodies), problems: recordedProblems }))
  }
  assert.deepEqual(requests(text), requests(fresh), 'run `npm run generate -- --examples`')
})

test('a recording contains no identifier, time, secret or address of the run', () => {
  const run = {
    id: '3b241101-e2bb-4255-8caf-4136c566a962',
    again: '3b241101e2bb42558caf4136c566a962',
    customer: 'cus_0a1b2c3d4e5f6g7h',
    reference: 'txn_01m81yrpqdrbshb7gpfq9g',
    at: '2026-11-22T15:00:00.123Z',
    secret: 'whsec_dGhpcyBpcyBhIHJlYWwgc2VjcmV0IGtleQ==',
    url: 'http://127.0.0.1:40123/hooks',
    email: 'ada.0123abcd@example.com',
    durationMs: 4711,
    nextCursor: 'real',
    data: [1, 2, 3],
  }
  const normal = normalise(run)
  for (const value of Object.values(run)) assert.ok(!normal.includes(JSON.stringify(value)), String(value))
  const { id, again } = JSON.parse(normal) as typeof run
  assert.equal(again, id.replaceAll('-', ''))
})
