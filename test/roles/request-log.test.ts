/**
 * The request log of a gateway and an api process: the sender of each request, every kind of refusal, and the stop of a
 * process.
 */
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import { createLog } from '../../service/src/kernel/index.ts'
import { createDatabase, sql } from '../../service/src/postgres/index.ts'
import { type Client, type JsonObject, listAt, success, textAt } from '../support/client.ts'
import { untilEnd } from '../support/fixture.ts'
import { freePorts, stop } from '../support/program.ts'
import { until } from '../support/until.ts'
import { createBeneficiary, invitee, payoutText } from '../support/world.ts'
import { useProcesses } from './processes.ts'

const trusting = { TRUSTED_PROXIES: '127.0.0.1', RATE_PER_SECOND: '1000' }

const service = await useProcesses()
const db = untilEnd(createDatabase({ url: service.databaseUrl, connectionsMax: 2, log: createLog('silent') }))
const api = await service.role('api')
const gateway = await service.role('gateway', { API_URL: api.url, ...trusting })
const credentials = await service.operator('partner', 'create', '--name', 'Apart')
const client = service.client(gateway.url, credentials)

const ofPartner = () => ['--partner', credentials.partnerId] as const
const find = (requestId: string) =>
  until(`${requestId} is in the log`, async (): Promise<JsonObject | undefined> => {
    const [found, ...more] = listAt(success(await client.get(`/v1/requests?requestId=${requestId}`)))
    assert.deepEqual(more, [], 'one process records a request')
    return found
  })

type SentRequest = Omit<Parameters<Client['send']>[0], 'headers'> & { readonly ip?: string }
/** Sends a request, and returns its answer and its entry. */
async function log(as: Client, { ip = '203.0.113.9', ...request }: SentRequest) {
  const id = randomUUID()
  const headers = { 'X-Request-Id': id, 'X-Forwarded-For': ip, 'User-Agent': 'our-program/1' }
  const answer = await as.send({ ...request, headers })
  return { answer, entry: await find(id) }
}
const get = (target: string) => ({ method: 'GET', target })
const post = (target: string, body: JsonObject | string) => ({ method: 'POST', target, body })
const outcome = ({ entry }: Awaited<ReturnType<typeof log>>) => [entry['status'], entry['code']]

test("the log entry of a forwarded request has the client's address, user agent and service account", async () => {
  const { entry } = await log(client, get('/v1/customers'))
  assert.deepEqual(
    [entry['ip'], entry['userAgent'], entry['operation'], entry['status'], entry['verified']],
    ['203.0.113.9', 'our-program/1', 'listCustomers', 200, true],
  )
  const [account = {}] = listAt(success(await client.get('/v1/service-accounts')))
  assert.deepEqual(
    [entry['serviceAccountId'], entry['serviceAccountName']],
    [account['serviceAccountId'], account['name']],
  )
  const forged = await log(client, { ...get('/v1/customers'), signed: { secret: 'another' }, ip: '203.0.113.10' })
  assert.deepEqual([...outcome(forged), forged.entry['verified']], [401, 'signature_invalid', false])
  assert.equal(forged.entry['ip'], '203.0.113.10')
})

test('the log contains requests of staff, and refusals with 403, 409, 422, 429 and 502', async () => {
  const few = await service.operator(
    ...['service-account', 'create', ...ofPartner(), '--name', 'Few', '--permissions', 'accounts:read'],
  )
  const denied = await log(service.client(gateway.url, few), get('/v1/customers'))
  assert.deepEqual([...outcome(denied), denied.entry['serviceAccountName']], [403, 'permission_denied', 'Few'])

  const words = ['--staff', 'Sam Staff', '--minutes', '15', '--note', 'Ticket 7']
  const staff = service.client(gateway.url, await service.operator('impersonate', ...ofPartner(), ...words))
  const read = await log(staff, get('/v1/customers'))
  assert.deepEqual([...outcome(read), read.entry['impersonatedBy']], [200, undefined, 'Sam Staff'])
  const written = await log(staff, post('/v1/customers', '{}'))
  assert.deepEqual(outcome(written), [403, 'impersonation_write_blocked'])

  const invitations = { invitations: [invitee()] }
  success(await client.post('/v1/users/invitations', invitations))
  assert.deepEqual(outcome(await log(client, post('/v1/users/invitations', invitations))), [409, 'invitation_exists'])

  const payee = textAt(await createBeneficiary(client), 'id')
  const dear = await log(client, post('/v1/payouts/fiat', payoutText(payee, '9999999.00')))
  assert.deepEqual(outcome(dear), [422, 'insufficient_funds'])

  const slow = await service.role('gateway', { API_URL: api.url, ...trusting, RATE_PER_SECOND: '1' })
  const hasty = service.client(slow.url, credentials)
  const limited = await until('a request is above the rate', async () => {
    await Promise.all(Array.from({ length: 20 }, () => hasty.get('/v1/accounts')))
    const logged = await log(hasty, get('/v1/accounts'))
    return logged.answer.status === 429 && logged
  })
  assert.deepEqual([...outcome(limited), limited.entry['ip']], [429, 'rate_limited', '203.0.113.9'])

  const [nowhere = ''] = await freePorts(1)
  const alone = await service.role('gateway', { API_URL: `http://127.0.0.1:${nowhere}`, ...trusting })
  const failed = await log(service.client(alone.url, credentials), get('/v1/accounts'))
  assert.deepEqual(outcome(failed), [502, 'downstream_unreachable'])
})

test('a process that stops writes the log entries in its memory', async () => {
  const other = await service.role('api')
  const front = await service.role('gateway', { API_URL: other.url, ...trusting })
  const ids = Array.from({ length: 30 }, () => randomUUID())
  const as = service.client(front.url, credentials)
  await Promise.all(
    ids.map(async (id) => success(await as.send({ ...get('/v1/accounts'), headers: { 'X-Request-Id': id } }))),
  )
  const count = async () => {
    const row = await db.row<{ count: bigint }>(sql`
      select count(*) as count from requests.log
      where partner_id = ${credentials.partnerId} and request_id = any(${ids}::text[])`)
    return Number(row?.count)
  }
  assert.equal((await stop(other)).code, 0)
  assert.equal(await count(), ids.length)
})
