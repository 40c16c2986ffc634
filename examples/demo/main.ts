/**
 * `npm run demo`: a partner's whole day against a service of its own, with webhooks received and verified, and the books
 * compared at the end. `--kill`: the same day, with the service killed again and again. `--keep`: the data stay.
 * Ends with 0 only where everything agrees.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createClient } from '@partner-payments/sdk'
import { checkBooks } from './ledger-audit.ts'
import { shortName } from './causes.ts'
import { type Day, liveTheDay } from './day.ts'
import { amountText, minorOf } from './money.ts'
import { createPrint, write } from './print.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { type Check, type Reconciliation, reconcile } from './reconcile.ts'
import { createService, type Service } from './service.ts'
import { createStrike } from './strikes.ts'
import { renderTable } from './table.ts'
import { createUntil } from './until.ts'

type Options = { readonly kill: boolean; readonly keep: boolean }

const bankDelayMs = 200
const deadlineMs = 30_000
/** A service that has died starts again, and what it was working on is taken up. */
const deadlineAfterKillMs = 90_000

function readOptions(): Options {
  const boolean = { type: 'boolean', default: false } as const
  return parseArgs({ options: { kill: boolean, keep: boolean } }).values
}

/** The day, its table, its reconciliation. Answers whether everything agrees. */
async function run({ kill }: Options, service: Service, receiver: Receiver): Promise<boolean> {
  const print = createPrint()
  print('service', `starting, data in ${service.dataDir}`)
  await service.start()
  print('service', `listens on ${service.baseUrl}`)
  // The client repeats what got no answer while the service is away.
  const client = createClient({ ...service.credentials(), baseUrl: service.baseUrl, ...(kill && { retries: 20 }) })
  const until = createUntil(kill ? deadlineAfterKillMs : deadlineMs)
  const stage = { client, receiver, dataDir: service.dataDir, print, until }
  const day = await liveTheDay(stage, kill ? createStrike(service, print, until) : undefined)
  print('books', 'comparing')
  const { checks, transactions } = await reconcile(stage, day, kill)
  const all = [...checks, ...(await checkBooks(service.dataDir, day.payments))]
  write(`\n${tableOf(day, transactions, receiver)}\n\n${reportOf(all)}`)
  return all.every(({ differences }) => differences.length === 0)
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
    if (found === undefined) return [reference, 'not there']
    const { type, amount, currency, status } = found
    return [reference, type, amountText(minorOf(amount)), currency, status, events.join(' ')]
  })
  return renderTable(columns, rows)
}

function reportOf(checks: readonly Check[]): string {
  const wrong = checks.filter(({ differences }) => differences.length > 0)
  const rows = checks.map((check) =>
    wrong.includes(check)
      ? ['DIFFERS', check.title, `in ${check.differences.length}, see below`]
      : ['agrees', check.title, check.agreed],
  )
  const table = renderTable([{ title: 'verdict' }, { title: 'books' }, { title: 'found' }], rows)
  const lines = wrong.flatMap(({ title, differences }) => differences.map((line) => `${title}: ${line}`))
  return [table, '', ...(wrong.length === 0 ? ['Everything reconciles.'] : ['It does not reconcile:', ...lines])].join(
    '\n',
  )
}

async function main(): Promise<void> {
  const options = readOptions()
  const folder = await mkdtemp(join(tmpdir(), 'partner-payments-demo-'))
  const service = await createService(folder, bankDelayMs)
  const receiver = await startReceiver()
  const clear = async (keep: boolean, asked: 'asks' | 'was asked' = 'asks') => {
    await service.stop(asked)
    await receiver.close()
    if (keep) write(`The data and the log are kept in ${folder}`)
    else await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
  }
  let interrupted = false
  const onSignal = (signal: NodeJS.Signals) => {
    if (interrupted) process.exit(130)
    interrupted = true
    write('\nstopping')
    // A Ctrl-C at a terminal reached the service as well, and a second signal would make it break off.
    const asked = signal === 'SIGINT' && process.stdin.isTTY ? 'was asked' : 'asks'
    void clear(options.keep, asked).finally(() => process.exit(130))
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
  let agrees = false
  try {
    agrees = await Promise.race([run(options, service, receiver), service.failed])
  } catch (error) {
    // Whatever an interruption breaks off is no news.
    if (!interrupted)
      write(`\nThe demo failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
  }
  if (interrupted) return
  await clear(options.keep || !agrees)
  process.exitCode = agrees ? 0 : 1
}

await main()
