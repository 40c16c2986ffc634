/**
 * The composition root: the only file that sees every room. Each is made with plain values of what it needs; nothing
 * is looked up, nothing is global.
 */
import { createAccess, type Access } from './access/index.ts'
import type { Config } from './config.ts'
import { startDelivery } from './delivery/index.ts'
import { createGateway, docsAssets, type Gateway } from './gateway/index.ts'
import {
  type AllHandlers,
  type Clock,
  createCursors,
  createSealer,
  deriveKey,
  type Log,
  type Loop,
  minuteMs,
  present,
  startLoop,
} from './kernel/index.ts'
import { createLedger } from './ledger/index.ts'
import { folderTransport, readMailbox, smtpTransport, startMailWorker, startNoticeWorker } from './mail/index.ts'
import type { Operations } from './operations/index.ts'
import { createOutbox, wakingDatabase } from './outbox/index.ts'
import type { Database } from './postgres/index.ts'
import { createSandboxBank } from './rails/index.ts'
import { accountsRoutes, createAccounts, defaultIssuers } from './rooms/accounts/index.ts'
import { beneficiariesRoutes, createBeneficiaries } from './rooms/beneficiaries/index.ts'
import { createCustomers, customersRoutes } from './rooms/customers/index.ts'
import { createDeposits, type Deposits } from './rooms/deposits/index.ts'
import { createPayouts, payoutsRoutes } from './rooms/payouts/index.ts'
import { createSimulations, simulationsRoutes } from './rooms/simulations/index.ts'
import { createTransactions, transactionsRoutes } from './rooms/transactions/index.ts'
import { createUsers, usersRoutes } from './rooms/users/index.ts'
import { createWebhooks, noticeQueue, webhooksRoutes } from './rooms/webhooks/index.ts'
import { startSettlement } from './settlement/index.ts'

export type House = {
  readonly access: Access
  readonly deposits: Deposits
  readonly gateway: (form: 'local' | 'edge' | 'inner') => Promise<Gateway>
  readonly startWorkers: () => readonly Loop[]
  /**
   * After a crash, what the dead worker held would wait for its leases to end. The embedded database serves one process,
   * so that whatever is held at its start is held by nobody.
   */
  readonly releaseLeases: () => Promise<void>
}

export type HouseDeps = {
  readonly config: Config
  readonly db: Database
  readonly clock: Clock
  readonly log: Log
  readonly operations?: Operations
  /** The folder where mails land without SMTP_URL. */
  readonly outboxFolder: string
}

const sweepIdleMs = minuteMs

/** Ledger, rooms and the handlers of every operation, lower ranks first. */
function createRooms({ config, db, clock }: HouseDeps) {
  const [masterKey] = config.MASTER_KEY as readonly [Buffer]
  const sealer = createSealer(config.MASTER_KEY)
  const sharded = config.DATABASE_SHARDED
  const cursors = createCursors(deriveKey(masterKey, 'cursors'))
  const access = createAccess({ db, clock, sealer, sharded })
  const ledger = createLedger({ clock })
  const outbox = createOutbox()
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
  const webhooks = createWebhooks({
    db,
    clock,
    sealer,
    cursors,
    outbox,
    urlRules: { allowHttpLoopback: config.WEBHOOK_HTTP },
    sharded,
    limits: config.WEBHOOK_LIMITS,
    ...(config.WEBHOOK_RETRY_DELAYS_MS === undefined ? {} : { retryDelaysMs: config.WEBHOOK_RETRY_DELAYS_MS }),
  })
  const accounts = createAccounts({ db, clock, customers, ledger, issuers: defaultIssuers })
  const beneficiaries = createBeneficiaries({ db, clock, cursors, customers })
  const transactions = createTransactions({ db, clock, cursors, outbox, customers })
  const shared = { db, clock, ledger, outbox, customers, transactions }
  const payouts = createPayouts({ ...shared, cursors, beneficiaries, railId, sharded })
  const deposits = createDeposits({ ...shared, access, railId: bank.id })
  const simulations = createSimulations({ bank, deposits, payouts })

  const handlers: AllHandlers = {
    ...accountsRoutes(accounts),
    ...beneficiariesRoutes(beneficiaries),
    ...customersRoutes(customers),
    ...payoutsRoutes(payouts),
    ...simulationsRoutes(simulations),
    ...transactionsRoutes(transactions),
    ...usersRoutes(users),
    ...webhooksRoutes(webhooks),
  }

  const internalKey = deriveKey(masterKey, 'internal')
  return { access, bank, deposits, handlers, internalKey, payouts, users, webhooks }
}

export function compose(deps: HouseDeps): House {
  const { config, db, clock, log } = deps
  let delivery: Loop | undefined
  const waking = wakingDatabase(db, () => delivery?.wake())
  const rooms = createRooms({ ...deps, db: waking })
  const { access, bank, deposits, handlers, internalKey, payouts, users, webhooks } = rooms
  const idleMs = config.WORKER_IDLE_MS
  return {
    access,
    deposits,
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
        ...(deps.operations ? { observe: { attempt: deps.operations.metrics.delivery } } : {}),
      })),
      ...(config.RAIL === 'sandbox' ? startSettlement({ log, rail: bank, payouts, deposits, idleMs }) : []),
      startMailWorker({ db, clock, log, users, access, ...mailParts(deps), idleMs }),
      startNoticeWorker({ db, clock, log, notices: noticeQueue, users, access, ...mailParts(deps), idleMs }),
      startLoop({ name: 'access.nonces', idleMs: sweepIdleMs, log, step: access.sweepNonces }),
    ],
  }
}

function mailParts({ config, outboxFolder }: HouseDeps) {
  return {
    transport: config.SMTP_URL === undefined ? folderTransport(outboxFolder) : smtpTransport(config.SMTP_URL),
    from: present(readMailbox(config.MAIL_FROM), 'checked with the configuration'),
  }
}

type GatewayParts = {
  readonly form: 'local' | 'edge' | 'inner'
  readonly handlers: AllHandlers
  readonly access: Access
  readonly internalKey: Uint8Array
}

async function makeGateway({ config, clock, log, operations }: HouseDeps, parts: GatewayParts): Promise<Gateway> {
  const { form, access, ...rest } = parts
  const common = {
    ...rest,
    log,
    clock,
    sandbox: config.SIMULATIONS,
    bodyBytesMax: config.BODY_BYTES_MAX,
    requestsMax: config.REQUESTS_MAX,
    headerBytesMax: config.HEADER_BYTES_MAX,
    pages: form === 'inner' ? [] : await docsAssets(),
    ...(operations ? { observe: operations.metrics.request } : {}),
  }
  if (form === 'inner') return createGateway({ ...common, form })
  const signed = {
    access,
    windowSeconds: config.TIMESTAMP_WINDOW_SECONDS,
    rate: { perSecond: config.RATE_PER_SECOND, burst: config.RATE_BURST },
  }
  if (form === 'local') return createGateway({ ...common, ...signed, form })
  const apiUrl = present(config.API_URL, 'checked with the role')
  return createGateway({ ...common, ...signed, form, apiUrl, apiTimeoutMs: config.API_TIMEOUT_MS })
}
