/**
 * The service's own parts, put together for one comparison each (first argument), in a process of its own:
 *
 *   accept     the whole service as `serve` has it, without its workers: they can run elsewhere (role `worker`)
 *   settle     the loops of `worker` that carry payouts to the bank and take what it tells, and no others
 *   stateless  the same gateway, with a payout handler and an authentication that ask no database
 *              (second argument: how many payouts share a transaction at most)
 *   processes  the same service in as many API processes as PROCESSES says, on one port, also without workers
 *   empty      the same gateway and authentication, nonces in the database, and a transaction handler that asks nothing
 */
import { join } from 'node:path'
import { type OperationId, operationIds } from '@partner-payments/wire'
import { type Access, createAccess } from '../service/src/access/index.ts'
import { compose } from '../service/src/compose.ts'
import { type Config, readConfig } from '../service/src/config.ts'
import { createGateway, type Gateway } from '../service/src/gateway/index.ts'
import { type AllHandlers, type Handler, readAmount, readCurrency } from '../service/src/api/index.ts'
import { createLog, createSealer, newId, systemClock, writeAmount } from '../service/src/kernel/index.ts'
import { createObservability } from '../service/src/observability/index.ts'
import { createDatabase, type Database } from '../service/src/postgres/index.ts'
import { createProcesses } from '../service/src/processes.ts'

const at = '2026-01-01T00:00:00.000Z'

/** What `createFiatPayout` answers, made of the request alone. */
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

/** A transaction of the usual size, always the same. */
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

const unused = () => Promise.reject(new Error('no part of this comparison'))
const handlers = {
  ...Object.fromEntries(operationIds.map((id: OperationId) => [id, unused])),
  createFiatPayout: payoutHandler,
  getTransaction: transactionHandler,
} as unknown as AllHandlers

/** Every credential is read once; every nonce is new. */
function withoutDatabase(access: Access): Access {
  const known = new Map<string, ReturnType<Access['credential']>>()
  return {
    ...access,
    credential: (apiKey) => {
      const credential = known.get(apiKey) ?? access.credential(apiKey)
      known.set(apiKey, credential)
      return credential
    },
    spendNonce: () => Promise.resolve({ fresh: true, durable: () => Promise.resolve() }),
  }
}

const mailboxFolder = (config: Config) => join(config.DATA_DIR, 'mailbox')

async function build(form: string | undefined, config: Config, db: Database): Promise<Gateway> {
  const clock = systemClock
  const log = createLog(config.LOG_LEVEL)
  const observability = createObservability({ db })
  if (form === 'accept') {
    const [, , , batch] = process.argv
    const sized = batch === undefined ? {} : { payoutsPerBatchMax: Number(batch) }
    const service = compose({ config, db, clock, log, observability, mailboxFolder: mailboxFolder(config), ...sized })
    return service.gateway('local')
  }
  const access = createAccess({ db, clock, sealer: createSealer(config.MASTER_KEY) })
  const options = {
    handlers,
    access: form === 'stateless' ? withoutDatabase(access) : access,
    log,
    clock,
    sandbox: true,
    bodyBytesMax: config.BODY_BYTES_MAX,
    requestsMax: config.REQUESTS_MAX,
    headerBytesMax: config.HEADER_BYTES_MAX,
    observe: observability.metrics.request,
    windowSeconds: config.TIMESTAMP_WINDOW_SECONDS,
    rate: { perSecond: config.RATE_PER_SECOND, burst: config.RATE_BURST },
  }
  return createGateway({ ...options, form: 'local', internalKey: Buffer.alloc(32), pages: [] })
}

const config = readConfig()
const db = createDatabase({
  url: config.DATABASE_URL ?? '',
  connectionsMax: config.DATABASE_CONNECTIONS_MAX,
  log: createLog(config.LOG_LEVEL),
})
// An orderly exit, so that a profile of the process is written.
process.once('SIGTERM', () => process.exit(0))
const listen = async () => {
  if (process.argv[2] === 'settle') {
    const log = createLog(config.LOG_LEVEL)
    compose({ config, db, clock: systemClock, log, mailboxFolder: mailboxFolder(config) }).startSettlement()
    return 0
  }
  if (process.argv[2] !== 'processes') return (await build(process.argv[2], config, db)).listen('127.0.0.1', 0)
  const processes = createProcesses({ role: 'serve', config, log: createLog(config.LOG_LEVEL) })
  return processes.start(config.DATABASE_URL ?? '')
}
process.send?.({ port: await listen() })
