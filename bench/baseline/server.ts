/**
 * The baseline: a straightforward payout service with one transaction per HTTP request and sequential statements on a
 * connection pool. It gives the same guarantees as the service: RSA signature, nonce, timestamp window, idempotency key,
 * double entry under a row lock, transaction, timeline and event in one durable commit.
 */
import { createHash, createPublicKey, type KeyObject, randomUUID, verify } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { readConfig } from '../../service/src/app/config.ts'

const config = readConfig()
const pool = new pg.Pool({
  connectionString: config.DATABASE_URL,
  max: config.DATABASE_CONNECTIONS_MAX,
  options: '-c timezone=UTC',
})

type Partner = { readonly id: string; readonly secret: string; readonly key: KeyObject }
type Body = {
  readonly amount: number
  readonly currency: string
  readonly beneficiaryId: string
  readonly idempotencyKey: string
}
type Answer = { readonly status: number; readonly body: object }

const refuse = (status: number, code: string): Answer => ({ status, body: { status, code } })
const partners = new Map<string, Partner>()

async function partnerOf(apiKey: string): Promise<Partner | undefined> {
  const known = partners.get(apiKey)
  if (known) return known
  const { rows } = await pool.query('select id, api_secret, public_key_pem from partners where api_key = $1', [apiKey])
  if (!rows[0]) return undefined
  const partner = { id: rows[0].id, secret: rows[0].api_secret, key: createPublicKey(rows[0].public_key_pem) }
  partners.set(apiKey, partner)
  return partner
}

function isSigned(request: IncomingMessage, raw: Buffer, { secret, key }: Partner): boolean {
  const { timestamp = '', nonce = '', signature = '' } = request.headers
  const digest = createHash('sha256').update(raw).digest('hex')
  const text = [request.method, request.url, '', timestamp, nonce, secret, digest].join('\n')
  return verify('sha256', Buffer.from(text), key, Buffer.from(String(signature), 'base64'))
}

function valid(value: unknown): value is Body {
  const { amount, currency, beneficiaryId, idempotencyKey } = (value ?? {}) as Partial<Body>
  return (
    typeof amount === 'number' &&
    amount > 0 &&
    typeof currency === 'string' &&
    typeof beneficiaryId === 'string' &&
    typeof idempotencyKey === 'string'
  )
}

/** The driver prepares a named statement once per connection. */
const statement = (client: pg.PoolClient, name: string, text: string, values: readonly unknown[]) =>
  client.query({ name, text, values: [...values] })

async function accept(client: pg.PoolClient, partnerId: string, nonce: string, body: Body): Promise<Answer> {
  const now = new Date()
  const { idempotencyKey, beneficiaryId, currency } = body
  const amount = Math.round(body.amount * 100)
  const nonces = 'insert into nonces values ($1, $2, $3) on conflict do nothing'
  const consumed = await statement(client, 'nonce', nonces, [partnerId, nonce, new Date(now.getTime() + 660_000)])
  if (consumed.rowCount === 0) return refuse(401, 'nonce_replayed')
  const byKey = `select transaction.reference, payout.status from payouts as payout
    join transactions as transaction on transaction.id = payout.transaction_id
    where payout.partner_id = $1 and payout.idempotency_key = $2`
  const before = await statement(client, 'key', byKey, [partnerId, idempotencyKey])
  if (before.rows[0]) return { status: 200, body: { ...body, ...before.rows[0] } }
  const payee = `select beneficiary.*, customer.email from beneficiaries as beneficiary
    join customers as customer on customer.id = beneficiary.customer_id
    where beneficiary.partner_id = $1 and beneficiary.id = $2 and beneficiary.currency = $3`
  const [beneficiary] = (await statement(client, 'payee', payee, [partnerId, beneficiaryId, currency])).rows
  if (!beneficiary) return refuse(404, 'not_found')
  const lock = 'select * from accounts where partner_id = $1 and currency = $2 order by id for update'
  const accounts = (await statement(client, 'lock', lock, [partnerId, currency])).rows
  const balance = accounts.find(({ name }) => name === 'balance')
  const settlement = accounts.find(({ name }) => name === 'settlement')
  if (Number(balance.posted) - Number(balance.reserved) < amount) return refuse(422, 'insufficient_funds')
  const [transactionId, payoutId, reserveId, eventId] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()]
  const reference = `txn_${randomUUID()}`
  await statement(client, 'reserve', 'update accounts set reserved = reserved + $2 where id = $1', [balance.id, amount])
  const transfer = `insert into transfers values ($1, $2, 'reserve', $3, $4, $5, $6, $7, $8)`
  const moved = [reserveId, partnerId, amount, currency, balance.id, settlement.id, reference, now]
  await statement(client, 'transfer', transfer, moved)
  const open = `insert into transactions values ($1, $2, $3, $4, $5, 'Withdrawal', 'Pending', $6, $7, $8, $9, $10)`
  const creditor = JSON.stringify({ accountHolderName: beneficiary.name, iban: beneficiary.iban })
  const opened = [transactionId, partnerId, reference, amount, currency, beneficiary.customer_id, beneficiaryId]
  await statement(client, 'open', open, [...opened, idempotencyKey, creditor, now])
  const timeline = `insert into timeline values ($1, 0, 'Created', 'Pending', $2), ($1, 1, 'Reserved', 'Pending', $2)`
  await statement(client, 'timeline', timeline, [transactionId, now])
  const fingerprint = JSON.stringify([amount, currency, beneficiaryId])
  const payout = `insert into payouts values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'Pending', $10, $10)`
  const kept = [
    payoutId,
    partnerId,
    idempotencyKey,
    fingerprint,
    transactionId,
    reserveId,
    beneficiaryId,
    amount,
    currency,
    now,
  ]
  await statement(client, 'payout', payout, kept)
  const event = `insert into events values ($1, $2, 'partner.customer.withdrawal.requested', $3, $4, $5)`
  const data = JSON.stringify({ ...body, reference, customerEmail: beneficiary.email, timestamp: now.toISOString() })
  await statement(client, 'event', event, [eventId, partnerId, reference, data, now])
  await statement(client, 'pending', 'insert into pending_events values ($1)', [eventId])
  const { name: beneficiaryName, iban: beneficiaryAccount } = beneficiary
  return { status: 200, body: { ...body, beneficiaryName, beneficiaryAccount, reference, status: 'Pending' } }
}

async function inTransaction(work: (client: pg.PoolClient) => Promise<Answer>): Promise<Answer> {
  const client = await pool.connect()
  try {
    await client.query('begin')
    const answer = await work(client)
    await client.query('commit')
    return answer
  } catch (error) {
    await client.query('rollback')
    throw error
  } finally {
    client.release()
  }
}

async function answer(request: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const raw = Buffer.concat(chunks)
  const { apikey = '', nonce = '', timestamp = '' } = request.headers
  if (Math.abs(Date.now() / 1000 - Number(timestamp)) > 300) return refuse(401, 'timestamp_out_of_window')
  const partner = await partnerOf(String(apikey))
  if (!partner || !isSigned(request, raw, partner)) return refuse(401, 'signature_invalid')
  const body = JSON.parse(raw.toString()) as unknown
  if (!valid(body)) return refuse(400, 'validation_failed')
  return inTransaction((client) => accept(client, partner.id, String(nonce), body))
}

const server = createServer((request, response) => {
  answer(request)
    .catch(() => refuse(500, 'internal_error'))
    .then(({ status, body }) => {
      const text = JSON.stringify(body)
      response.writeHead(status, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
      response.end(text)
    })
    .catch(() => response.destroy())
})
process.once('SIGTERM', () => process.exit(0))
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))
