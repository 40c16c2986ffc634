/**
 * Payouts ended per second, in this process: accepted, instructed, acknowledged, settled. Acceptance and workers share the
 * process and the database, as in the role `serve`, without HTTP and signatures. A sample counts from the first acceptance to
 * the last end.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { rawNumber } from '@partner-payments/wire'
import { composeModules, type Modules } from '../../service/src/app/modules.ts'
import { readConfig } from '../../service/src/app/config.ts'
import { deliveryJobs, deliveryLimitsDefault } from '../../service/src/webhooks/index.ts'
import { defineJob, startJobs } from '../../service/src/postgres/jobs/index.ts'
import { createLog, newId, systemClock } from '../../service/src/kernel/index.ts'
import { analyseGrownTables, createDatabase, type Database } from '../../service/src/postgres/index.ts'
import { createSandboxBank } from '../../service/src/banks/sandbox/index.ts'
import type { ChooseConnector, Connector } from '../../service/src/rails/index.ts'
import { settlementJobs } from '../../service/src/banks/settlement/index.ts'
import { withClient } from '../postgres.ts'
import type { Contestant } from '../rounds.ts'

export type Scene = {
  readonly name: string
  readonly partners: number
  /** Wraps the sandbox bank. */
  readonly wrap?: (bank: Connector) => Connector
  /** Second bank for payouts in dollars, beside the sandbox bank. */
  readonly other?: Connector
  /** Payouts of the other connector that wait before the samples. */
  readonly waiting?: number
  /** An endpoint that gets every event. A sample then ends when it has received all of them. */
  readonly endpointUrl?: string
  /** Attempts in flight to it. */
  readonly inFlight?: number
}

const connectionsMax = 12
const pollMs = 50
/** Equals the closed-loop connections of the other bench. */
const callers = 64
const floatMinor = 100_000_000_000n
const settings = { MASTER_KEY: Buffer.alloc(32, 7).toString('base64') }
/** A bank that hangs has done so for some time: its breaker is open when the sample begins. */
const leadMs = 4000

/** A sample ends that many payouts. */
export async function startScene(
  url: string,
  scene: Scene,
  payouts: number,
): Promise<Contestant & { readonly stop: () => Promise<void> }> {
  const {
    name,
    partners,
    other,
    waiting = 0,
    endpointUrl,
    inFlight = deliveryLimitsDefault.inFlightPerEndpointMax,
  } = scene
  const limits = { WEBHOOK_HTTP: 'on', WEBHOOK_LIMITS: `inFlightPerEndpointMax=${inFlight}` }
  const config = readConfig({}, { ...settings, ...limits })
  const log = createLog('silent')
  const db = createDatabase({ url, connectionsMax, log })
  const clock = systemClock
  const bank = createSandboxBank({ db, clock, stepMs: 0 })
  const chooseConnector: ChooseConnector = ({ currency }) => (currency === 'USD' ? other?.id : bank.id)
  const modules = composeModules({ config, db, clock, log, bank, chooseConnector })
  const { access, cases, payoutAges, payoutLife, recalls, deposits, returns, webhooks } = modules
  const connectors = [scene.wrap?.(bank) ?? bank, ...(other ? [other] : [])]
  const isPartner = async (partnerId: string) => (await access.partnerName(db, partnerId)) !== ''
  const partnerIds = () => access.partnerIds(db)
  const settlement = {
    log,
    connectors,
    payouts: payoutLife,
    payoutAges,
    recalls,
    deposits,
    cases,
    returns,
    isPartner,
    partnerIds,
  }

  const payers: Pay[] = []
  const accounts = connectors.map(({ id }, at): Account => ({ connector: id, currency: at === 0 ? euros : dollars }))
  for (let index = 0; index < partners; index += 1) payers.push(await addPayer({ ...modules, db }, accounts, index))
  const accept = (count: number, currency: Currency) => acceptBy(payers, count, currency)
  if (endpointUrl !== undefined)
    for (const partnerId of await access.partnerIds(db))
      await webhooks.create(partnerId, { url: endpointUrl, events: ['*'] })
  await accept(waiting, 'USD')

  const read = async (statement: string) =>
    withClient(url, async (client) => (await client.query<{ value: string }>(statement)).rows.map(({ value }) => value))
  // By indexes: a count would slow down what it watches.
  const unfinished = `select 1::text as value from payouts.payouts
    where status in ('Pending', 'Processing', 'Sent') and connector = '${bank.id}' limit 1`
  const undelivered = `(select 1::text as value from events.pending limit 1)
    union all (select 1::text from delivery.queue limit 1)`
  const isEmpty = async (statement: string) => (await read(statement)).length === 0
  const isDone = async () => (await isEmpty(unfinished)) && (!endpointUrl || (await isEmpty(undelivered)))

  return {
    name,
    sample: async () => {
      const analyse = () => analyseGrownTables(db, log).then(() => 0)
      const delivery = { db, clock, log, webhooks, allowLoopback: true, threads: 1 }
      const running = startJobs({
        db,
        clock,
        log,
        jobs: [
          ...settlementJobs(settlement),
          // As in the service: plans for an empty queue would be kept while it fills.
          defineJob({ name: 'postgres.statistics', everyMs: 2000, run: analyse }),
          ...(endpointUrl === undefined ? [] : deliveryJobs(delivery)),
        ],
      })
      if (other) await sleep(leadMs)
      const begun = performance.now()
      await accept(payouts, 'EUR')
      while (!(await isDone())) await sleep(pollMs)
      const rate = payouts / ((performance.now() - begun) / 1000)
      await running.stop()
      return { rate }
    },
    audit: () => read(auditText),
    stop: () => db.close(),
  }
}

/** Accepts payouts of the partners in turn, by closed-loop callers. */
async function acceptBy(payers: readonly Pay[], count: number, currency: Currency): Promise<void> {
  let accepted = 0
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (accepted < count) {
        accepted += 1
        await payers[accepted % payers.length]?.(currency)
      }
    }),
  )
}

const euros = 'EUR'
const dollars = 'USD'
type Currency = typeof euros | typeof dollars
type Pay = (currency: Currency) => Promise<unknown>
type Account = { readonly connector: string; readonly currency: Currency }

/** A partner with money at each connector. Answers how it pays its beneficiaries. */
async function addPayer(
  modules: Modules & { readonly db: Database },
  accounts: readonly Account[],
  index: number,
): Promise<Pay> {
  const { access, beneficiaries, customers, db, deposits, payouts } = modules
  const partnerId = await db.transaction(async (tx) => {
    const id = await access.createPartner(tx, `Bench ${index}`)
    for (const { connector, currency } of accounts)
      await deposits.creditPartner(tx, id, { debit: `settlement.${connector}`, currency, amount: floatMinor })
    return id
  })
  const customer = await customers.create(partnerId, { email: 'ada@example.com' })
  const address = { city: 'Arlington', country: 'US' }
  const payee = { customerId: customer.id, name: 'Grace Hopper', iban: 'DE89370400440532013000', address }
  const ids = new Map<string, string>()
  for (const { currency } of accounts)
    ids.set(currency, (await beneficiaries.create(partnerId, { ...payee, currency })).id)
  const caller = { partnerId, serviceAccountId: newId(), name: 'bench', permissions: [] }
  return (currency) => {
    const beneficiaryId = ids.get(currency) ?? ''
    const body = { amount: rawNumber('1.00'), currency, beneficiaryId, idempotencyKey: newId() }
    return payouts.create(caller, body, '127.0.0.1')
  }
}

/** Each instruction was received once, money sums to zero, and every ended payout has its events. */
const auditText = `
  select 'received ' || times_received || ' times: ' || id as value from rails.sandbox_instructions where times_received <> 1
  union all
  select 'money does not sum to zero: ' || sum(posted) from ledger.accounts group by currency having sum(posted) <> 0
  union all
  select 'ended and not instructed: ' || count(*) from payouts.payouts as payout
    left join rails.sandbox_instructions as instruction using (partner_id, end_to_end_id)
    where payout.status = 'Completed' and instruction.id is null having count(*) > 0
  union all
  select 'payouts without their four events: ' || count(*) from payouts.payouts as payout
    left join (select partner_id, reference, count(*) as events from events.events group by 1, 2) as appended
      using (partner_id, reference)
    where payout.status = 'Completed' and appended.events is distinct from 4 having count(*) > 0
  union all
  select 'a case is open: ' || count(*) from cases.cases having count(*) > 0`
