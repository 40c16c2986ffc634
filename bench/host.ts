/**
 * Parts of the service, composed for one comparison (first argument) in a process of its own:
 *
 *   accept     the service as `serve` composes it, without workers, which can run elsewhere (role `worker`);
 *              the second argument limits the payouts per transaction
 *   settle     only the settlement loops of `worker`
 *   stateless  the gateway with a payout handler and an authentication that use no database
 *   processes  the service without workers in PROCESSES API processes on one port
 *   empty      the gateway and authentication with nonces in the database, and a transaction handler without a database
 */
import { join } from 'node:path'
import { type OperationId, operationIds } from '@partner-payments/wire'
import { type Access, createAccess } from '../service/src/access/index.ts'
import { compose } from '../service/src/app/compose.ts'
import { type Config, readConfig } from '../service/src/app/config.ts'
import { itemRate, requestRate } from '../service/src/app/derived-settings.ts'
import { createGateway, type Gateway } from '../service/src/edge/gateway/index.ts'
import { type AllHandlers, type Handler, readAmount, readCurrency } from '../service/src/kernel/api/index.ts'
import { createLog, createSealer, newId, systemClock, writeAmount } from '../service/src/kernel/index.ts'
import { createObservability } from '../service/src/edge/observability/index.ts'
import { createDatabase, type Database } from '../service/src/postgres/index.ts'
import { createProcesses } from '../service/src/app/processes.ts'

const at = '2026-01-01T00:00:00.000Z'

/** Answers `createFiatPayout` from the request alone. */
const payoutHandler: Handler<'createFiatPayout'> = async ({ body }) => {
  const currency = readCurrency(body.currency)
  const amount = writeAmount(readAmount(body.amount, currency), currency)
  const reference = body.reference ?? newId()
  return {
    body: {
      amount,
      beneficiaryAccount: 'NL91ABNA0417164300',
      beneficiaryName: 'Bench Beneficiary',
      currency: body.currency,
      idempotencyKey: body.idempotencyKey,
      reference,
      status: 'Pending',
    },
    headers: { location: `/v1/transactions/${encodeURIComponent(reference)}` },
  }
}

/** Answers a constant transaction of typical size. */
const transactionHandler: Handler<'getTransaction'> = async ({ params }) => {
  const amount = writeAmount(5n, 'EUR')
  return {
    body: {
      reference: params.reference,
      amount,
      currency: 'EUR',
      userAmount: amount,
      userCurrency: 'EUR',
      category: 'Deposit',
      direction: 'Inward',
      method: 'Fiat',
      partyType: 'Partner',
      status: 'Completed',
      type: 'PartnerDeposit',
      hasFx: false,
      createdAt: at,
      updatedAt: at,
      timeline: (['Created', 'Settled', 'Credited'] as const).map((step) => ({
        createdAt: at,
        status: 'Completed' as const,
        step,
      })),
    },
  }
}

const unused = () => Promise.reject(new Error('not part of this comparison'))
const handlers = {
  ...Object.fromEntries(operationIds.map((id: OperationId) => [id, unused])),
  createFiatPayout: payoutHandler,
  getTransaction: transactionHandler,
} as unknown as AllHandlers

/** Reads every credential once, and accepts every nonce. */
function withoutDatabase(access: Access): Access {
  const known = new Map<string, ReturnType<Access['credential']>>()
  return {
    ...access,
    credential: (apiKey) => {
      const credential = known.get(apiKey) ?? access.credential(apiKey)
      known.set(apiKey, credential)
      return credential
    },
    consumeNonce: () => Promise.resolve({ fresh: true, durable: () => Promise.resolve() }),
  }
}

const mailboxFolder = (config: Config) => join(config.DATA_DIR, 'mailbox')

async function build(form: string | undefined, config: Config, db: Database): Promise<Gateway> {
  const clock = systemClock
  const log = createLog(config.LOG_LEVEL)
  const observability = await createObservability({ db })
  if (form === 'accept') {
    const [, , , batch] = process.argv
    const sized = batch === undefined ? {} : { payoutsPerBatchMax: Number(batch) }
    const service = compose({ config, db, clock, log, observability, mailboxFolder: mailboxFolder(config), ...sized })
    return service.gateway('standalone')
  }
  const access = createAccess({ db, clock, sealer: createSealer(config.MASTER_KEY) })
  const options = {
    handlers,
    access: form === 'stateless' ? withoutDatabase(access) : access,
    log,
    clock,
    sandbox: true,
    bodyBytesMax: 256 * 1024,
    bodyTimeoutMs: 20_000,
    headersTimeoutMs: 10_000,
    unauthenticatedBytesMax: 32 * 1024 * 1024,
    unauthenticatedConnectionsMax: 4096,
    requestsMax: config.REQUESTS_MAX,
    headerBytesMax: 16 * 1024,
    requestTimeoutMs: config.REQUEST_TIMEOUT_MS,
    observe: observability.metrics.request,
    windowSeconds: config.TIMESTAMP_WINDOW_SECONDS,
    rate: requestRate(config),
    itemRate: itemRate(config),
  }
  const pageRate = { perSecond: 1, burst: 1 }
  return createGateway({
    ...options,
    form: 'standalone',
    internalKey: Buffer.alloc(32),
    pages: [],
    sites: [],
    pageRate,
  })
}

const config = readConfig()
const db = createDatabase({
  url: config.DATABASE_URL ?? '',
  connectionsMax: config.DATABASE_CONNECTIONS_MAX,
  log: createLog(config.LOG_LEVEL),
})
// An orderly exit, so that Node writes the CPU profile.
process.once('SIGTERM', () => process.exit(0))
const listen = async () => {
  if (process.argv[2] === 'settle') {
    const log = createLog(config.LOG_LEVEL)
    compose({ config, db, clock: systemClock, log, mailboxFolder: mailboxFolder(config) }).startSettlement()
    return 0
  }
  if (process.argv[2] !== 'processes') return (await build(process.argv[2], config, db)).listen('127.0.0.1', 0)
  const processes = createProcesses({
    role: 'serve',
    config,
    log: createLog(config.LOG_LEVEL),
    onWritesRefused: () => undefined,
  })
  return processes.start(config.DATABASE_URL ?? '')
}
process.send?.({ port: await listen() })
