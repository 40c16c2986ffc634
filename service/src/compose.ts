/**
 * The composition root: the only file that sees every module. Each is made with plain values of what it needs; nothing
 * is looked up, nothing is global.
 */
import { createAccess, type Access } from './access/index.ts'
import type { Config } from './config.ts'
import { createPost, startStatisticsCollector, startDelivery } from './delivery/index.ts'
import { createGateway, docsAssets, type Gateway } from './gateway/index.ts'
import { type AllHandlers, createCursors } from './api/index.ts'
import {
  type Clock,
  createSealer,
  deriveKey,
  type Log,
  type Loop,
  minuteMs,
  present,
  secondMs,
  startLoop,
} from './kernel/index.ts'
import { createLedger } from './ledger/index.ts'
import { folderTransport, readMailbox, smtpTransport, startMailWorker, startNoticeWorker } from './mail/index.ts'
import type { Observability } from './observability/index.ts'
import { createEventOutbox, payloadOf, sampleOf, wakingDatabase } from './events/index.ts'
import { analyseWhatHasGrown, type Database } from './postgres/index.ts'
import { createSandboxBank } from './rails/index.ts'
import { accountsRoutes, createAccounts, defaultIssuers } from './modules/accounts/index.ts'
import { beneficiariesRoutes, createBeneficiaries } from './modules/beneficiaries/index.ts'
import { createCustomers, customersRoutes } from './modules/customers/index.ts'
import { createDeposits, type Deposits } from './modules/deposits/index.ts'
import { createPayouts, payoutsRoutes } from './modules/payouts/index.ts'
import { createSimulations, simulationsRoutes } from './modules/simulations/index.ts'
import { createTransactions, transactionsRoutes } from './modules/transactions/index.ts'
import { createUsers, usersRoutes } from './modules/users/index.ts'
import {
  endpointStatistics,
  createTestDeliveries,
  createDeliveryEngine,
  noticeQueue,
  type Sample,
} from './delivery/index.ts'
import { webhooksRoutes } from './modules/webhooks/index.ts'
import { startSettlement } from './settlement/index.ts'

type GatewayForm = 'local' | 'edge' | 'inner'

export type Service = {
  readonly access: Access
  readonly deposits: Deposits
  readonly gateway: (form: GatewayForm) => Promise<Gateway>
  readonly startWorkers: () => readonly Loop[]
  /** Of the workers, those that carry payouts to the bank and take what it tells. */
  readonly startSettlement: () => readonly Loop[]
  /**
   * After a crash, what the dead worker held would wait for its leases to end. The embedded database serves one process,
   * so that whatever is held at its start is held by nobody.
   */
  readonly releaseLeases: () => Promise<void>
}

export type ServiceDeps = {
  readonly config: Config
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly observability?: Observability
  /** See `PayoutsDeps`. */
  readonly payoutsPerBatchMax?: number
  /** The folder where mails land without SMTP_URL. */
  readonly mailboxFolder: string
}

const sweepIdleMs = minuteMs
const growthIdleMs = 2 * secondMs

/** Ledger, modules and the handlers of every operation, lower ranks first. */
function createRooms({ config, db, clock, payoutsPerBatchMax }: ServiceDeps) {
  const [masterKey] = config.MASTER_KEY as readonly [Buffer]
  const sealer = createSealer(config.MASTER_KEY)
  const sharded = config.DATABASE_SHARDED
  const cursors = createCursors(deriveKey(masterKey, 'cursors'))
  const access = createAccess({ db, clock, sealer, sharded })
  const ledger = createLedger({ clock })
  const eventOutbox = createEventOutbox()
  const bank = createSandboxBank({ db, clock, stepMs: config.SANDBOX_BANK_DELAY_MS })
  const railId = config.RAIL === 'sandbox' ? bank.id : undefined

  const customers = createCustomers({ db, clock, sealer, cursors })
  const users = createUsers({
    db,
    clock,
    sealer,
    cursors,
    sandbox: config.MODE === 'sandbox',
    ...(config.INVITATION_URL === undefined ? {} : { invitationBaseUrl: config.INVITATION_URL }),
  })
  const webhooks = createDeliveryEngine({
    db,
    clock,
    sealer,
    cursors,
    eventOutbox,
    urlRules: { allowHttpLoopback: config.WEBHOOK_HTTP },
    sharded,
    limits: config.WEBHOOK_LIMITS,
    ...(config.WEBHOOK_RETRY_DELAYS_MS === undefined ? {} : { retryDelaysMs: config.WEBHOOK_RETRY_DELAYS_MS }),
  })
  const accounts = createAccounts({ db, clock, customers, ledger, issuers: defaultIssuers })
  const beneficiaries = createBeneficiaries({ db, clock, cursors, customers })
  const transactions = createTransactions({ db, clock, cursors, eventOutbox, customers, sharded })
  const shared = { db, clock, ledger, eventOutbox, customers, transactions }
  const payouts = createPayouts({ ...shared, cursors, beneficiaries, railId, sharded, payoutsPerBatchMax })
  const deposits = createDeposits({ ...shared, access, railId: bank.id, sharded })
  const simulations = createSimulations({ bank, deposits, payouts })

  const post = createPost({ clock, allowLoopback: config.WEBHOOK_HTTP, proxy: config.WEBHOOK_PROXY_URL })
  const testDeliveries = createTestDeliveries({ db, clock, sealer, post, sample: createSample(access, db) })

  const handlers: AllHandlers = {
    ...accountsRoutes(accounts),
    ...beneficiariesRoutes(beneficiaries),
    ...customersRoutes(customers),
    ...payoutsRoutes(payouts),
    ...simulationsRoutes(simulations),
    ...transactionsRoutes(transactions),
    ...usersRoutes(users),
    ...webhooksRoutes(webhooks, testDeliveries),
  }

  const internalKey = deriveKey(masterKey, 'internal')
  return { access, bank, deposits, handlers, internalKey, payouts, users, webhooks }
}

/** A sample reads as the outbox would write it. */
const createSample =
  (access: Access, db: Database): Sample =>
  async (partnerId, type, now) => {
    const partnerName = await access.partnerName(db, partnerId)
    return payloadOf(type, now, sampleOf(type, { partnerId, partnerName, now }))
  }

export function compose(deps: ServiceDeps): Service {
  const { config, db, clock, log } = deps
  let delivery: Loop | undefined
  const waking = wakingDatabase(db, () => delivery?.wake())
  const rooms = createRooms({ ...deps, db: waking })
  const { access, bank, deposits, handlers, internalKey, payouts, users, webhooks } = rooms
  const idleMs = config.WORKER_IDLE_MS
  // Rests after each look: a table that somebody else is analysing is still there the next time.
  const growth = () => analyseWhatHasGrown(db, log).then(() => 0)
  const settlement = () =>
    config.RAIL === 'sandbox' ? startSettlement({ log, rail: bank, payouts, deposits, idleMs }) : []
  return {
    access,
    deposits,
    startSettlement: settlement,
    gateway: (form) => makeGateway(deps, { form, handlers, access, internalKey }),
    releaseLeases: async () => {
      for (const partnerId of await access.partnerIds(db)) {
        await payouts.releaseLeases(partnerId)
        await webhooks.releaseLeases(partnerId)
      }
    },
    startWorkers: () => [
      (delivery = startDelivery({
        db,
        clock,
        log,
        webhooks,
        idleMs: config.WEBHOOK_IDLE_MS,
        allowLoopback: config.WEBHOOK_HTTP,
        proxy: config.WEBHOOK_PROXY_URL,
        threads: config.WEBHOOK_THREADS,
        ...(deps.observability ? { observe: { attempt: deps.observability.metrics.delivery } } : {}),
      })),
      ...(deps.observability
        ? [startStatisticsCollector({ db, log, endpointStatistics, observe: deps.observability.metrics.endpoints })]
        : []),
      ...settlement(),
      startMailWorker({ db, clock, log, users, access, ...mailParts(deps), idleMs }),
      startLoop({ name: 'webhooks.recover', idleMs, log, step: webhooks.recoverStep }),
      startNoticeWorker({ db, clock, log, notices: noticeQueue, users, access, ...mailParts(deps), idleMs }),
      startLoop({ name: 'access.nonces', idleMs: sweepIdleMs, log, step: access.sweepNonces }),
      startLoop({ name: 'postgres.statistics', idleMs: growthIdleMs, log, step: growth }),
    ],
  }
}

function mailParts({ config, mailboxFolder }: ServiceDeps) {
  return {
    transport: config.SMTP_URL === undefined ? folderTransport(mailboxFolder) : smtpTransport(config.SMTP_URL),
    from: present(readMailbox(config.MAIL_FROM), 'checked with the configuration'),
  }
}

type GatewayParts = {
  readonly form: GatewayForm
  readonly handlers: AllHandlers
  readonly access: Access
  readonly internalKey: Uint8Array
}

async function makeGateway({ config, clock, log, observability }: ServiceDeps, parts: GatewayParts): Promise<Gateway> {
  const { form, access, ...rest } = parts
  const common = {
    ...rest,
    log,
    clock,
    sandbox: config.SIMULATIONS,
    bodyBytesMax: config.BODY_BYTES_MAX,
    requestsMax: config.REQUESTS_MAX,
    headerBytesMax: config.HEADER_BYTES_MAX,
    ...(observability ? { observe: observability.metrics.request } : {}),
  }
  const signed = {
    access,
    windowSeconds: config.TIMESTAMP_WINDOW_SECONDS,
    rate: { perSecond: config.RATE_PER_SECOND, burst: config.RATE_BURST },
  }
  if (form === 'inner') return createGateway({ ...common, form, pages: [] })
  const pages = await docsAssets()
  if (form === 'local') return createGateway({ ...common, ...signed, form, pages })
  const apiUrl = present(config.API_URL, 'checked with the role')
  return createGateway({ ...common, ...signed, form, pages, apiUrl, apiTimeoutMs: config.API_TIMEOUT_MS })
}
