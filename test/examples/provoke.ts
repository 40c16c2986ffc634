/** Causes every problem of the catalogue in a running service and returns its response. */
import { randomUUID } from 'node:crypto'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { type ProblemCode, serviceAccounts } from '@partner-payments/wire'
import { createLog, hourMs } from '../../service/src/kernel/index.ts'
import { createDatabase, type Database, sql } from '../../service/src/postgres/index.ts'
import { createProcesses } from '../roles/processes.ts'
import { startUpstream } from '../roles/upstream.ts'
import { type Answer, type Client, type JsonObject, success, textAt } from '../support/client.ts'
import { accountWith, impersonation, otherPartner, startTestService, type TestService } from '../support/service.ts'
import { checkoutOrder } from './checkout.ts'
import { lateSession } from '../support/late-payments.ts'
import { removeLastAdmin } from './team.ts'
import { until } from '../support/until.ts'
import { limitPayouts, withLockedBalance } from './database.ts'
import { last, refusedAmong } from './many.ts'
import { orderBeyondBound } from './orders.ts'
import { refusedCountry } from './provoke-countries.ts'
import { sessionAboveBalance } from './provoke-gates.ts'
import { createBeneficiary, createCustomer, invitee, payoutText, type World } from '../support/world.ts'
import { approvalExamples } from './provoke-approvals.ts'
import { recallExamples } from './provoke-recalls.ts'
import { walletExamples } from './provoke-wallets.ts'
import { refundExamples } from './provoke-refunds.ts'

export type Stage = {
  readonly service: TestService
  readonly client: Client
  readonly world: World
  readonly hookUrl: string
  readonly db: Database
}

type RefusalAnswer = Pick<Answer, 'status' | 'text'>
type Provocation = (stage: Stage) => Promise<RefusalAnswer>

const payouts = '/v1/payouts/fiat'
/** Given as a parameter: Citus refuses an interval beside a column in an update. */
const ago = (ms: number) => new Date(Date.now() - ms)
const post = (target: string, body: string) => ({ method: 'POST', target, body })
const hookOf = ({ world }: Stage) => `/v1/webhooks/${world.subscription}`
const payeeAt = (walletAddress: string) => ({ name: 'Grace Hopper', currency: 'USDC', walletAddress })

async function pay({ client, world }: Stage, fields: JsonObject = {}, amount = '10.00'): Promise<Answer> {
  return client.post(payouts, payoutText(world.beneficiary, amount, fields))
}

async function invite({ client }: Stage): Promise<string> {
  const { invitations } = success(await client.post('/v1/users/invitations', { invitations: [invitee()] }))
  return textAt((invitations as readonly JsonObject[])[0] ?? {}, 'inviteId')
}

/** Sends raw bytes that no HTTP client would send, and leaves the connection open. */
async function sendRaw(baseUrl: string, head: string): Promise<RefusalAnswer> {
  const { hostname, port } = new URL(baseUrl)
  const socket = connect(Number(port), hostname)
  socket.write(head)
  const response = await text(socket)
  return { status: Number(response.split(' ')[1]), text: response.slice(response.indexOf('\r\n\r\n') + 4) }
}

const ofRequests: Partial<Record<ProblemCode, Provocation>> = {
  malformed_request: ({ service }) => sendRaw(service.baseUrl, 'GET /v1/accounts HTTP/1.1\r\nHost\r\n\r\n'),
  malformed_json: ({ client }) => client.send(post(payouts, '{"amount":10.00,')),
  body_required: ({ client }) => client.post(payouts),
  duplicate_key: ({ client }) => client.send(post(payouts, '{"amount":10.00,"amount":11.00}')),
  nesting_too_deep: ({ client }) => client.send(post(payouts, `{"amount":${'['.repeat(40)}${']'.repeat(40)}}`)),
  payout_not_awaiting_approval: ({ client, world }) => client.post(`/v1/payouts/${world.payout}/approve`),
  standing_order_ended: ({ client, world }) => client.post(`/v1/payouts/standing-orders/${world.endedOrder}/pause`),
  standing_order_limit_reached: ({ client, db, world }) => orderBeyondBound(client, db, world.beneficiary),
  payout_not_cancellable: ({ client, world }) => client.post(`/v1/payouts/${world.payout}/cancel`),
  unknown_field: (stage) => pay(stage, { purpose: 'rent' }),
  validation_failed: (stage) => pay(stage, {}, '10.005'),
  not_found: ({ client }) => client.get('/v1/transactions/INV-2026-9999'),
  method_not_allowed: ({ client }) => client.delete('/v1/payouts'),
  body_too_large: ({ client }) => client.post(payouts, JSON.stringify({ reference: 'x'.repeat(300_000) })),
  unsupported_media_type: ({ client }) =>
    client.send({ ...post(payouts, '<payout/>'), headers: { 'Content-Type': 'application/xml' } }),
  transfer_coding_not_supported: ({ service }) =>
    sendRaw(service.baseUrl, 'POST /v1/accounts HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n'),
  headers_too_large: ({ client }) =>
    client.send({ method: 'GET', target: '/v1/accounts', headers: { 'X-Large': 'x'.repeat(20_000) } }),
}

const ofSignatures: Partial<Record<ProblemCode, Provocation>> = {
  signature_required: ({ client }) =>
    client.send({ method: 'GET', target: '/v1/accounts', headers: { Signature: undefined } }),
  jwt_not_accepted: ({ client }) =>
    client.send({ method: 'GET', target: '/v1/accounts', headers: { Authorization: 'Bearer token' } }),
  timestamp_out_of_window: ({ client }) => client.send({ method: 'GET', target: '/v1/accounts', timestamp: '1' }),
  nonce_invalid: ({ client }) => client.send({ method: 'GET', target: '/v1/accounts', nonce: 'not-a-guid' }),
  nonce_replayed: ({ client }) => {
    const nonce = randomUUID()
    return last(2, () => client.send({ method: 'GET', target: '/v1/accounts', nonce }))
  },
  signature_invalid: ({ client }) =>
    client.send({ method: 'GET', target: '/v1/accounts', signed: { secret: 'another' } }),
  permission_denied: async ({ service }) => (await accountWith(service, ['customers:read'])).get('/v1/accounts'),
  impersonation_write_blocked: async ({ service }) =>
    (await impersonation(service)).post('/v1/customers', { email: 'ada@example.com' }),
}

const ofPayments: Partial<Record<ProblemCode, Provocation>> = {
  request_in_progress: (stage) => withLockedBalance(stage, () => pay(stage)),
  idempotency_key_reused: async (stage) => {
    success(await pay(stage, { idempotencyKey: 'payout-2026-0043' }))
    return pay(stage, { idempotencyKey: 'payout-2026-0043' }, '11.00')
  },
  insufficient_funds: (stage) => pay(stage, {}, '9999999.99'),
  customer_exists: async ({ client }) => {
    const body = { partnerCustomerIdentifier: 'customer-43' }
    await client.post('/v1/customers', body)
    return client.post('/v1/customers', body)
  },
  customer_not_erasable: async ({ client }) => {
    const guid = textAt(await createCustomer(client), 'guid')
    success(
      await client.post('/v1/checkout/sessions', {
        amount: 5,
        currency: 'EUR',
        customerId: guid,
        idempotencyKey: randomUUID(),
      }),
    )
    return client.post(`/v1/customers/${guid}/erase`, {})
  },
  possible_duplicate: async ({ client }) => {
    const beneficiary = textAt(await createBeneficiary(client), 'id')
    success(await client.post(payouts, payoutText(beneficiary, '17.31', { reference: 'INV-2026-0731' })))
    return client.post(payouts, payoutText(beneficiary, '17.31', { reference: 'INV 2026/0731', onDuplicate: 'Refuse' }))
  },
  limit_exceeded: async (stage) => {
    const beneficiary = textAt(await createBeneficiary(stage.client), 'id')
    await limitPayouts(stage, beneficiary)
    return stage.client.post(payouts, payoutText(beneficiary, '10.01'))
  },
  // In a currency of its own, so that no other example waits.
  beneficiary_cooling_off: async ({ client, service }) => {
    const { partnerId } = service.credentials
    await service.operator('cooling-off', 'set', '--partner', partnerId, '--currency', 'GBP', '--hours', '24')
    const beneficiary = textAt(await createBeneficiary(client, { currency: 'GBP' }), 'id')
    return client.post(payouts, payoutText(beneficiary, '10.00', { currency: 'GBP' }))
  },
  account_blocked: async ({ client, db }) => {
    const customerId = textAt(await createCustomer(client), 'guid')
    const beneficiary = textAt(await createBeneficiary(client, { customerId }), 'id')
    await db.run(sql`update customers.customers set account_state = 'BlockedOutbound' where id = ${customerId}`)
    return client.post(payouts, payoutText(beneficiary, '10.00'))
  },
  customer_not_verified: async ({ client, db }) => {
    const customerId = textAt(await createCustomer(client, { kyc: { fullName: 'Ada Lovelace', lei: '1' } }), 'guid')
    await db.run(sql`
      insert into customers.gates (partner_id, verification_state, opens_accounts, receives, pays, updated_at)
      select partner_id, verification_state, true, true, false, created_at from customers.customers where id = ${customerId}
      on conflict do nothing`)
    const beneficiary = textAt(await createBeneficiary(client, { customerId }), 'id')
    return client.post(payouts, payoutText(beneficiary, '10.00'))
  },
  balance_limit_exceeded: sessionAboveBalance,
  currency_not_supported: (stage) => pay(stage, { currency: 'JPY' }),
  beneficiary_currency_mismatch: (stage) => pay(stage, { currency: 'USD' }),
  wallet_address_not_payable: ({ client }) => client.post('/v1/beneficiaries', payeeAt(`0x${'0'.repeat(40)}`)),
  recipient_blocked: ({ client }) => client.post('/v1/beneficiaries', payeeAt(`0x${'0'.repeat(36)}dEaD`)),
  country_not_supported: refusedCountry,
  // The API requires an IBAN of a fiat beneficiary, so that only an older row can lack one.
  beneficiary_not_payable: async ({ client, db }) => {
    const id = textAt(await createBeneficiary(client), 'id')
    await db.run(sql`
      update beneficiaries.beneficiaries set iban = null, bic = null, wallet_address = ${`0x${'5'.repeat(40)}`}
      where id = ${id}`)
    return client.post(payouts, payoutText(id, '10.00'))
  },
  identity_verification_open: async ({ client }) => {
    const path = `/v1/customers/${textAt(await createCustomer(client), 'guid')}/verifications`
    success(await client.post(path, {}))
    return client.post(path, {})
  },
  // Only production has no issuers and no identity provider by default.
  identity_provider_not_configured: () => inProduction('/verifications', {}),
  iban_issuer_not_configured: () => inProduction('/account'),
  iban_pool_exhausted: async ({ service, db }) => {
    await db.run(sql`update accounts.iban_pools set next_block = 2147483647`)
    const other = await otherPartner(service)
    return other.post(`/v1/customers/${textAt(await createCustomer(other), 'guid')}/account`)
  },
}

async function quoteOf({ client }: Stage, kind = 'firm'): Promise<string> {
  const body = { sellCurrency: 'EUR', buyCurrency: 'USD', sellAmount: 10, kind }
  return textAt(success(await client.post('/v1/fx/quotes', body)), 'id')
}
const convert = ({ client }: Stage, quoteId: string) =>
  client.post('/v1/fx/conversions', { quoteId, idempotencyKey: randomUUID() })

const ofExchange: Partial<Record<ProblemCode, Provocation>> = {
  fx_quote_accepted: async (stage) => {
    const id = await quoteOf(stage)
    return last(2, () => convert(stage, id))
  },
  fx_quote_expired: async (stage) => {
    const id = await quoteOf(stage)
    await stage.db.run(sql`
      update fx.quotes set created_at = ${ago(2 * hourMs)}, expires_at = ${ago(hourMs)}
      where id = ${id}`)
    return convert(stage, id)
  },
  fx_rates_unavailable: async ({ client }) => {
    success(await client.post('/v1/simulations/fx/rates', { stale: true }))
    const refused = await client.get('/v1/fx/rates')
    success(await client.post('/v1/simulations/fx/rates', { stale: false }))
    return refused
  },
}

/** Posts to a path of a new customer in a production installation that has nothing configured. */
async function inProduction(path: string, body?: JsonObject) {
  const service = await createProcesses()
  try {
    const { url } = await service.role('serve', { MODE: 'production', SMTP_URL: 'smtp://127.0.0.1:9' })
    const client = service.client(url, await service.operator('partner', 'create', '--name', 'Example'))
    return await client.post(`/v1/customers/${textAt(await createCustomer(client), 'guid')}${path}`, body)
  } finally {
    await service.close()
  }
}

const january = { kind: 'statement', format: 'csv', from: '2026-01-01T00:00:00Z', to: '2026-02-01T00:00:00Z' }
/** Postpones recent and pending reports, so that no worker starts them. */
const holdReports = (db: Database) =>
  db.run(sql`
    update reports.reports set status = 'Queued', lease_id = null, rows = null, bytes = null, sha256 = null,
      content_attempt = null, due_at = '2999-01-01'
    where status in ('Queued', 'Running') or created_at > ${ago(1000)}`)

const ofReports: Partial<Record<ProblemCode, Provocation>> = {
  report_format_not_supported: ({ client }) =>
    client.post('/v1/reports', { ...january, kind: 'transactions', format: 'pdf' }),
  report_not_ready: async ({ client, db }) => {
    const id = textAt(success(await client.post('/v1/reports', january)), 'id')
    await holdReports(db)
    return client.get(`/v1/reports/${id}/content`)
  },
  range_not_satisfiable: ({ client, world }) =>
    client.send({ method: 'GET', target: `/v1/reports/${world.report}/content`, headers: { Range: 'bytes=1000000-' } }),
  report_limit_reached: ({ client, db }) =>
    until('a report is refused', async () => {
      const answer = await client.post('/v1/reports', january)
      await holdReports(db)
      return answer.status === 429 && answer
    }),
  report_schedule_limit_reached: async ({ client }) => {
    const person = invitee()
    await client.post('/v1/users/invitations', { invitations: [person] })
    const daily = { kind: 'fees', format: 'csv', frequency: 'daily', emails: [textAt(person, 'email')] }
    return last(21, () => client.post('/v1/reports/schedules', daily))
  },
}

const ofUsersAndWebhooks: Partial<Record<ProblemCode, Provocation>> = {
  invitation_exists: ({ client }) => {
    const person = invitee()
    return last(2, () => client.post('/v1/users/invitations', { invitations: [person] }))
  },
  last_admin: ({ client, service }) => removeLastAdmin(client, service),
  invitation_not_pending: async (stage) => {
    const id = await invite(stage)
    return last(2, () => stage.client.delete(`/v1/users/invitations/${id}`))
  },
  resend_too_soon: async (stage) => {
    const id = await invite(stage)
    return last(2, () => stage.client.post(`/v1/users/invitations/${id}/resend`))
  },
  resend_limit_reached: async (stage) => {
    const id = await invite(stage)
    await stage.db.run(sql`
      update users.invitations set resends = 5, resent_at = ${ago(hourMs)} where id = ${id}`)
    return stage.client.post(`/v1/users/invitations/${id}/resend`)
  },
  contrast_too_low: ({ client }) => client.put('/v1/checkout/branding', { accentColour: '#ffcc00' }),
  line_items_mismatch: ({ client, world }) => client.post('/v1/checkout/sessions', checkoutOrder(world, '4.00')),
  late_payment_decided: async ({ client, world }) => {
    const { id, late } = await lateSession(client, world.customer, 1)
    const path = `/v1/checkout/sessions/${id}/late-payments/${late[0]}`
    success(await client.post(`${path}/accept`))
    return client.post(`${path}/return`)
  },
  checkout_session_not_open: async ({ client, world }) => {
    const id = textAt(success(await client.post('/v1/checkout/sessions', checkoutOrder(world))), 'sessionId')
    return last(2, () => client.post(`/v1/checkout/sessions/${id}/expire`))
  },
  ...refundExamples,
  recovery_in_progress: (stage) => {
    const body = { since: new Date(Date.now() - 1000).toISOString() }
    return refusedAmong(6, () => stage.client.post(`${hookOf(stage)}/recover`, body), 409)
  },
  cursor_expired: async ({ client, db, service }) => {
    const { nextCursor } = success(await client.get('/v1/events?limit=1'))
    await db.run(sql`delete from delivery.feed where partner_id = ${service.credentials.partnerId} and sequence <= 2`)
    return client.get(`/v1/events?after=${String(nextCursor)}`)
  },
  webhook_secret_limit_reached: (stage) => last(6, () => stage.client.post(`${hookOf(stage)}/rotate-secret`)),
  webhook_test_too_soon: (stage) =>
    last(25, () => stage.client.post(`${hookOf(stage)}/test`, { eventType: 'transaction.status.changed' })),
  monitor_limit_reached: ({ client, world }) =>
    last(21, () => client.post(`/v1/accounts/${world.balance}/monitors`, { direction: 'Below', threshold: 100 })),
  service_account_limit_reached: ({ client }) => {
    const body = { name: 'Payroll', publicKeyPem: serviceAccounts.examplePublicKey, permissions: ['payouts:read'] }
    return last(serviceAccounts.serviceAccountsMax, () => client.post('/v1/service-accounts', body))
  },
  webhook_limit_reached: ({ client, hookUrl }) => last(21, () => client.post('/v1/webhooks', { url: hookUrl })),
}

/**
 * Failures of the service itself: limits, a broken table, and an API process that closes the connection or does not
 * respond.
 */
const ofFailures: Partial<Record<ProblemCode, Provocation>> = {
  rate_limited: async () => {
    const service = await startTestService({ env: { RATE_PER_SECOND: '1' } })
    try {
      return await refusedAmong(20, () => service.client.get('/v1/accounts'), 429)
    } finally {
      await service.dispose()
    }
  },
  overloaded: async () => {
    const service = await startTestService({ env: { REQUESTS_MAX: '1' } })
    const { client } = service
    const db = createDatabase({ url: service.databaseUrl, connectionsMax: 2, log: createLog('silent') })
    try {
      const beneficiary = textAt(await createBeneficiary(client), 'id')
      return await db.transaction(async (tx) => {
        await tx.rows(sql`
          select id from ledger.accounts where partner_id = ${service.credentials.partnerId} for update`)
        void client.post(payouts, payoutText(beneficiary, '10.00')).catch(() => undefined)
        return until('a request is refused', async () => {
          const answer = await client.get('/v1/accounts')
          return answer.status === 503 && answer
        })
      })
    } finally {
      await db.close()
      await service.dispose()
    }
  },
  request_timeout: async () => {
    const service = await startTestService({ env: { HEADERS_TIMEOUT_MS: '200' } })
    try {
      return await sendRaw(service.baseUrl, 'GET /v1/accounts HTTP/1.1\r\nHost: ')
    } finally {
      await service.dispose()
    }
  },
  storage_unavailable: async () => {
    const service = await startTestService()
    try {
      await makeReadOnly(service.databaseUrl)
      return await until('a write is refused', async () => {
        const answer = await service.client.post('/v1/customers', { email: 'ada@example.com' })
        return answer.status === 503 && answer
      })
    } finally {
      await service.dispose()
    }
  },
  internal_error: async ({ client, db }) => {
    await db.run(sql`alter table beneficiaries.beneficiaries rename to away`)
    return client.get('/v1/beneficiaries')
  },
  downstream_unreachable: () => behindGateway('hangUp'),
  downstream_timeout: () => behindGateway('silence', '300'),
}

/**
 * Sets the database to read-only, and terminates the connections of the service, so that new connections are read-only.
 */
async function makeReadOnly(url: string): Promise<void> {
  const db = createDatabase({ url, connectionsMax: 1, log: createLog('silent') })
  try {
    await db.pool.query(`alter database ${new URL(url).pathname.slice(1)} set default_transaction_read_only = on`)
    await db.pool.query(`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`)
  } finally {
    await db.close()
  }
}

async function behindGateway(manner: 'hangUp' | 'silence', REQUEST_TIMEOUT_MS = '20000'): Promise<Answer> {
  const [service, upstream] = await Promise.all([createProcesses(), startUpstream()])
  try {
    upstream.behave(manner)
    const gateway = await service.role('gateway', { API_URL: upstream.url, REQUEST_TIMEOUT_MS })
    const credentials = await service.operator('partner', 'create', '--name', 'Example')
    return await service.client(gateway.url, credentials).get('/v1/accounts')
  } finally {
    await upstream.close()
    await service.close()
  }
}

/** The provocations in order: the last ones leave the service broken. */
export const provocations: Readonly<Partial<Record<ProblemCode, Provocation>>> = {
  ...ofRequests,
  ...ofSignatures,
  ...ofPayments,
  ...approvalExamples,
  ...recallExamples,
  ...walletExamples,
  ...ofExchange,
  ...ofReports,
  ...ofUsersAndWebhooks,
  ...ofFailures,
}
