/**
 * `npm run demo`: a partner's whole day against a service of its own. It receives and verifies webhooks, and reconciles
 * everything at the end. Chapters follow: customers, payees, accounts, controls and more, each with a partner of its own. `--chapter NAME`
 * runs one of them alone. `--full` adds payers, exchange, wallets and reports, and shows every value that a transaction can have.
 * `--bank iso20022` runs the day over files of ISO 20022, with the test bank beside the service. `--kill` kills the service (and that
 * bank) repeatedly; `--keep` keeps the data. `--defaults production` starts a service that behaves as in production in everything but its
 * banks: only the money of a customer pays for it, and two persons of the operator's staff decide. Exit code 0 if all checks agree.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createClient } from '@partner-payments/sdk'
import { auditLedger } from './ledger-audit.ts'
import { shortName } from './causes.ts'
import { importShared, poolSettings } from './chapters/ibans.ts'
import { chapters, runChapters } from './chapters/index.ts'
import { type Day, runDay } from './day.ts'
import { runFull } from './full/run.ts'
import type { Chapter } from './chapters/stage.ts'
import { type DemoBank, startDemoBank, withBank } from './iso/bank.ts'
import { checkBooks } from './iso/checks.ts'
import { runIsoDay } from './iso/day.ts'
import { rehearseSafeguarding } from './iso/safeguarding.ts'
import { createKill } from './kills.ts'
import { amountText, minorOf } from './money.ts'
import { type Print, createPrint, write } from './print.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { type Check, type Reconciliation, reconcile } from './reconcile.ts'
import { createService, type Service, type StopMode } from './service.ts'
import { withStaff } from './staff.ts'
import { renderTable } from './table.ts'
import { createUntil, type Until } from './until.ts'

type Options = {
  readonly full: boolean
  readonly kill: boolean
  readonly keep: boolean
  /** Only this one, without the day. */
  readonly chapter: Chapter | undefined
  readonly bank: 'sandbox' | 'iso20022'
  /** Names the mode of which the service has the defaults. */
  readonly defaults: 'sandbox' | 'production'
}

const bankDelayMs = 200
/** Allows for the restarts, for the leases of killed processes, and for a payout that waits for a decision and is looked at every 30 seconds. */
const deadlineMs = 90_000

function readOptions(): Options {
  const boolean = { type: 'boolean', default: false } as const
  const sandboxOption = { type: 'string', default: 'sandbox' } as const
  const { bank, chapter, defaults, ...flags } = parseArgs({
    options: {
      ...{ full: boolean, kill: boolean, keep: boolean, bank: sandboxOption, defaults: sandboxOption },
      chapter: { type: 'string' },
    },
  }).values
  if (defaults !== 'sandbox' && defaults !== 'production') throw new Error('--defaults is sandbox or production')
  const rest = { ...flags, defaults } as const
  if (bank !== 'sandbox' && bank !== 'iso20022') throw new Error('--bank is sandbox or iso20022')
  if (bank === 'iso20022' && rest.full) throw new Error('--full is for the sandbox bank')
  if (chapter === undefined) return { ...rest, bank, chapter }
  const found = chapters.find(({ name }) => name === chapter)
  if (found === undefined) throw new Error(`--chapter is one of ${chapters.map(({ name }) => name).join(', ')}`)
  if (bank === 'iso20022' || rest.full || rest.kill)
    throw new Error('--chapter is for the sandbox bank, without the day')
  return { ...rest, bank, chapter: found }
}

/** Runs the day and the chapters, or one chapter; prints the tables, and returns whether all checks agree. */
async function run(options: Options, service: Service, receiver: Receiver, bank?: DemoBank): Promise<boolean> {
  const print = createPrint()
  print('service', `starting, data in ${service.dataDir}`)
  await service.start()
  print('service', `listens on ${service.baseUrl}`)
  // Before the first account: it needs an IBAN of each country that has pools.
  if (hasChapters(options)) await importShared(service.operator, service.dataDir)
  const day =
    options.chapter === undefined ? await runWithDay({ ...options, service, receiver, bank, print }) : undefined
  const chosen = options.chapter !== undefined ? [options.chapter] : hasChapters(options) ? chapters : []
  const shown = await runChapters({ service, print, until: createUntil(deadlineMs) }, chosen)
  const checks = [...(day?.checks ?? []), ...shown, ...(shown.length === 0 ? [] : await auditAgain(service.dataDir))]
  write(`\n${day === undefined ? '' : `${day.table}\n\n`}${reportOf(checks)}`)
  return checks.every(({ differences }) => differences.length === 0)
}

/** Chapters about the service at work: with its bank of the sandbox, and without kills. */
const hasChapters = ({ kill, bank }: Options): boolean => !kill && bank === 'sandbox'

/** The chapters have moved money, too. */
async function auditAgain(dataDir: string): Promise<readonly Check[]> {
  return (await auditLedger(dataDir)).map((check) => ({ ...check, title: `${check.title} after the chapters` }))
}

type Setting = Pick<Options, 'full' | 'kill'> & {
  readonly service: Service
  readonly receiver: Receiver
  readonly bank: DemoBank | undefined
  readonly print: Print
}

async function runWithDay({ full, kill, service, receiver, bank, print }: Setting) {
  const { dataDir } = service
  // The client retries requests while the service restarts.
  const client = createClient({ ...service.credentials(), baseUrl: service.baseUrl, ...(kill && { retries: 20 }) })
  const until = createUntil(deadlineMs)
  const context = { client, receiver, dataDir, print, until }
  const killer = kill ? createKill(bank ? withBank(service, bank) : service, print, until) : undefined
  const day = bank ? await runIsoDay(context, bank, killer) : await runDay(context, killer)
  print('checks', 'reconciling')
  const { checks, transactions } = await reconcile(context, day, kill)
  const audited = bank
    ? [...checks, ...(await auditLedger(dataDir)), ...(await checkBank(bank, { service, print, until }))]
    : [...checks, ...(await auditLedger(dataDir, day.payments))]
  const all = full ? [...audited, ...(await runFull({ ...context, operator: service.operator }))] : audited
  return { checks: all, table: tableOf(day, transactions, receiver) }
}

/** Compares bank and ledger, then rehearses safeguarding over the statements of the day. */
async function checkBank(
  bank: DemoBank,
  { service, print, until }: Pick<Setting, 'service' | 'print'> & { readonly until: Until },
): Promise<readonly Check[]> {
  const book = await bank.book()
  const compared = await checkBooks(service.dataDir, book, until)
  const day = new Date().toISOString().slice(0, 10)
  return [...compared, ...(await rehearseSafeguarding(service, book, day, print))]
}

function tableOf(day: Day, transactions: Reconciliation['transactions'], receiver: Receiver): string {
  const columns = [
    { title: 'reference' },
    { title: 'type' },
    { title: 'amount', align: 'right' },
    { title: '' },
    { title: 'status' },
    { title: 'events received' },
  ] as const
  const rows = day.payments.map(({ reference }) => {
    const found = transactions.find((each) => each.reference === reference)
    const events = receiver.eventsOf(reference).map(({ data }) => shortName(data.eventType))
    if (found === undefined) return [reference, 'not listed']
    const { type, amount, currency, status } = found
    return [reference, type, amountText(minorOf(amount)), currency, status, events.join(' ')]
  })
  return renderTable(columns, rows)
}

function reportOf(checks: readonly Check[]): string {
  const wrong = checks.filter(({ differences }) => differences.length > 0)
  const rows = checks.map((check) =>
    wrong.includes(check)
      ? ['DIFFERS', check.title, `${check.differences.length} differences, see below`]
      : ['agrees', check.title, check.agreed],
  )
  const table = renderTable([{ title: 'result' }, { title: 'check' }, { title: 'details' }], rows)
  const lines = wrong.flatMap(({ title, differences }) => differences.map((line) => `${title}: ${line}`))
  return [table, '', ...(wrong.length === 0 ? ['All checks agree.'] : ['Differences:', ...lines])].join('\n')
}

async function serviceOf(options: Options, folder: string, bank: DemoBank | undefined): Promise<Service> {
  const settings = bank?.settings ?? (hasChapters(options) ? poolSettings : {})
  if (options.defaults === 'sandbox') return createService(folder, bankDelayMs, settings)
  return withStaff(await createService(folder, bankDelayMs, { ...settings, SANDBOX_DEFAULTS: 'production' }))
}

async function main(): Promise<void> {
  const options = readOptions()
  const folder = await mkdtemp(join(tmpdir(), 'partner-payments-demo-'))
  const bank = options.bank === 'iso20022' ? await startDemoBank(folder) : undefined
  const service = await serviceOf(options, folder, bank)
  const receiver = await startReceiver()
  const cleanUp = async (keep: boolean, stop: StopMode = 'send signal') => {
    await service.stop(stop)
    await receiver.close()
    await bank?.stop()
    if (keep) write(`The data and the log are kept in ${folder}`)
    else await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }
  let interrupted = false
  const onSignal = (signal: NodeJS.Signals) => {
    if (interrupted) process.exit(130)
    interrupted = true
    write('\nstopping')
    // A terminal sends Ctrl-C to the service as well, and a second signal would abort its orderly stop.
    const stop = signal === 'SIGINT' && process.stdin.isTTY ? 'signal was sent' : 'send signal'
    void cleanUp(options.keep, stop).finally(() => process.exit(130))
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  let agrees = false
  try {
    agrees = await Promise.race([run(options, service, receiver, bank), service.failed])
  } catch (error) {
    // An interruption makes running requests fail; those errors are not reported.
    if (!interrupted)
      write(`\nThe demo failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
  }
  if (interrupted) return
  await cleanUp(options.keep || !agrees)
  process.exitCode = agrees ? 0 : 1
}

await main()
