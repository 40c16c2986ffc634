/** Times in requests. Contract page, times: read as any RFC 3339 UTC time, in bodies and queries. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { timeInputPattern } from '@partner-payments/wire'
import { type JsonObject, listAt, success, textAt } from '../support/client.ts'
import { useReceiver, useSharedService } from '../support/fixture.ts'
import { pluck } from '../support/pluck.ts'
import { assertProblem } from '../support/problem.ts'
import { type Subject, subjects } from '../support/requests.ts'
import { createWorld } from '../support/world.ts'

const service = await useSharedService()
const receiver = await useReceiver()
const { client } = service
const world = await createWorld(client, receiver.url, service)

type Properties = Readonly<Record<string, { readonly format?: string; readonly pattern?: string }>>
const timesOf = (schema: unknown): readonly string[] =>
  Object.entries((schema as { readonly properties?: Properties } | undefined)?.properties ?? {}).flatMap(
    ([name, { format, pattern }]) => {
      if (format !== 'date-time') return []
      assert.equal(pattern, timeInputPattern, `${name} reads every form of a time`)
      return [name]
    },
  )

type TimeField = { readonly subject: Subject; readonly name: string; readonly pointer: string }
const inQueries = subjects.flatMap((subject): TimeField[] =>
  timesOf(subject.operation.query).map((name) => ({ subject, name, pointer: `/query/${name}` })),
)
const inBodies = subjects.flatMap((subject): TimeField[] =>
  timesOf(subject.operation.body).map((name) => ({ subject, name, pointer: `/${name}` })),
)

function send({ subject, name, pointer }: TimeField, time: string) {
  const { target, body } = subject.request(world)
  if (pointer !== `/${name}`) return client.get(`${target}?${name}=${time.replaceAll(' ', '%20')}`)
  const given = JSON.parse(body ?? '{}') as JsonObject
  // What is tried lies between the two others.
  const earlier = new Date(Date.now() - 3_600_000).toISOString()
  const span = 'since' in given ? { since: earlier } : { from: earlier, to: new Date().toISOString() }
  const fields = { ...given, ...span, [name]: time }
  return client.send({ method: subject.operation.method, target, body: JSON.stringify(fields) })
}

/** The time as different clients write it. */
function spellingsOf(instant: Date): readonly string[] {
  const [seconds = ''] = instant.toISOString().split('.')
  const fractions = ['', '.5', '.123', '.123456', '.123456789', `.${'9'.repeat(30)}`]
  const spelled = fractions.flatMap((fraction) => [`${seconds}${fraction}Z`, `${seconds}${fraction}+00:00`])
  return [...spelled, `${seconds}-00:00`, `${seconds}z`.replace('T', 't')]
}

const refused = [
  ...['2016-12-31T23:59:60Z', '2016-12-31T23:59:60.999Z', '2016-12-31T23:59:61Z', '2026-02-30T00:00:00Z'],
  ...['2025-02-29T00:00:00.000Z', '2026-13-01T00:00:00Z', '2026-00-01T00:00:00Z', '2026-01-01T24:00:00Z'],
  ...['2026-01-01T00:60:00Z', '0000-01-01T00:00:00Z', '10000-01-01T00:00:00Z', '-0001-01-01T00:00:00Z'],
  ...['2026-01-01T00:00:00', '2026-01-01T00:00:00+01:00', '2026-01-01T00:00:00.Z', '2026-01-01T00:00Z'],
  ...['2026-01-01 00:00:00Z', '2026-01-01', '1767225600', 'infinity', '2026-01-01T00:00:00Z[UTC]'],
]

test('every operation with a time is tested', () => {
  assert.ok(inQueries.length >= 4, 'filters of transactions and of deliveries')
  assert.ok(inBodies.length >= 2, 'the range of a recovery')
})

for (const field of [...inQueries, ...inBodies])
  test(`400 with a pointer when ${field.name} is not an RFC 3339 UTC time that can be stored: ${field.subject.name}`, async () => {
    for (const time of refused) {
      const problem = assertProblem(await send(field, time), { status: 400, pointer: field.pointer })
      assert.match(textAt(problem, 'detail'), /RFC 3339.*for example 2026-/, time)
    }
  })

for (const field of inQueries)
  test(`200 to every spelling of ${field.name}: ${field.subject.name}`, async () => {
    for (const time of [...spellingsOf(new Date()), '0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999999999Z']) {
      // The content of an export is no JSON.
      const answer = await send(field, time)
      assert.equal(answer.status, 200, answer.text)
    }
  })

for (const field of inBodies)
  test(`no 400 to any spelling of ${field.name}: ${field.subject.name}`, async () => {
    for (const time of spellingsOf(new Date(Date.now() - 2000))) {
      const answer = await send(field, time)
      assert.ok(answer.status === 200 || answer.json.code === 'recovery_in_progress', answer.text)
    }
  })

test('200 with the same transactions for every spelling of one instant', async () => {
  const [newest = {}] = listAt(success(await client.get('/v1/transactions?limit=1')))
  const [seconds = '', fraction = ''] = textAt(newest, 'createdAt').replace('Z', '').split('.')
  for (const time of [`${seconds}.${fraction}Z`, `${seconds}.${fraction}000+00:00`, `${seconds}.${fraction}789Z`]) {
    const from = listAt(success(await client.get(`/v1/transactions?createdFrom=${time}`)))
    assert.deepEqual(pluck(from, 'reference'), [newest.reference], time)
  }
})
