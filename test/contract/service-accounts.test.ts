/** A partner makes, narrows and revokes its own keys by signed requests, over real sockets. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { test } from 'node:test'
import { useService } from '../support/fixture.ts'
import { assertProblem } from '../support/problem.ts'
import { type JsonObject, success, textAt } from '../support/client.ts'
import { until } from '../support/until.ts'

const service = await useService({ env: { TRUSTED_PROXIES: '127.0.0.1' } })

const spki = { type: 'spki', format: 'pem' } as const
const path = '/v1/service-accounts'

const clientOf = (made: JsonObject, privateKeyPem: string) =>
  service.clientOf({ partnerId: service.credentials.partnerId, ...made, privateKeyPem })

/** A key pair of one's own, of which the service gets the public half, and the client that it signs for. */
async function create(fields: JsonObject = {}, key?: string) {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 3072 })
  const body = { name: 'Payroll', permissions: ['accounts:read'], publicKeyPem: publicKey.export(spki), ...fields }
  const text = JSON.stringify(body)
  const headers = key === undefined ? {} : { 'Idempotency-Key': key }
  const send = () => service.client.send({ method: 'POST', target: path, body: text, headers })
  const made = success(await send())
  const privateKeyPem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  return { made, send, id: textAt(made, 'serviceAccountId'), client: clientOf(made, privateKeyPem) }
}

test('a key pair generated elsewhere signs, a replay returns the same secret, and no list contains it', async () => {
  const { made, send, id, client } = await create({}, 'payroll-1')
  assert.equal((await client.get('/v1/accounts')).status, 200)
  assertProblem(await client.get('/v1/customers'), { status: 403, code: 'permission_denied' })
  assert.deepEqual(success(await send()), made)
  const listed = await service.client.get(path)
  assert.ok(listed.text.includes(id))
  assert.ok(!listed.text.includes(textAt(made, 'apiSecret')))
  const read = success(await service.client.get(`${path}/${id}`))
  assert.deepEqual([read.status, read.permissions, read.impersonation], ['Active', ['accounts:read'], false])
})

test('an account with a list of addresses can be used only from these, also behind a trusted proxy', async () => {
  const { id, client } = await create({ allowedAddresses: ['203.0.113.0/24'] })
  const from = (ip: string) =>
    client.send({ method: 'GET', target: '/v1/accounts', headers: { 'X-Forwarded-For': ip } })
  const denied = await client.get('/v1/accounts')
  assertProblem(denied, { status: 403, code: 'permission_denied' })
  assert.match(denied.text, /may not be used from the address 127\.0\.0\.1/)
  assert.equal((await from('203.0.113.9')).status, 200)
  assertProblem(await from('203.0.114.9'), { status: 403, code: 'permission_denied' })
  success(await service.client.send({ method: 'PATCH', target: `${path}/${id}`, body: '{"allowedAddresses":[]}' }))
  await until('the list is gone', async () => (await client.get('/v1/accounts')).status === 200)
})

test('revoked and rotated accounts are refused, and the new account can sign', async () => {
  const { id, client } = await create()
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const rotation = { publicKeyPem: publicKey.export(spki).toString(), overlapHours: 0 }
  const rotated = success(await service.client.post(`${path}/${id}/rotate`, rotation))
  const privateKeyPem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const next = clientOf(rotated, privateKeyPem)
  assert.equal((await next.get('/v1/accounts')).status, 200)
  await until('the old key ends', async () => (await client.get('/v1/accounts')).status === 401)
  assert.equal((await service.client.delete(`${path}/${textAt(rotated, 'serviceAccountId')}`)).status, 204)
  await until('the new key is revoked', async () => (await next.get('/v1/accounts')).status === 401)
})
