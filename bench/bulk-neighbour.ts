/**
 * Bulks of 1,000 payouts beside another partner: how long the webhooks of that partner take meanwhile, against the same
 * partner alone in the same run. `node bench/bulk-neighbour.ts [seconds] [bulks]`, by default 30 seconds alone and 150 bulks.
 */
import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { numbersGiven } from '../scripts/arguments.ts'
import { type Client, createClient, type Credentials, success, textAt } from '../test/support/client.ts'
import { otherPartner, readCredentials, startTestService, type TestService } from '../test/support/service.ts'
import { until } from '../test/support/until.ts'
import { type Endpoint, startEndpoint } from '../test/support/webhooks.ts'
import { createBeneficiary, payoutText } from '../test/support/world.ts'

const payoutsPerBulk = 1000
const bulksAtOnce = 8
const pauseBetweenPayoutsMs = 250
const lastWebhookMsMax = 120_000
const withDefaultRates = { RATE_PER_SECOND: '100' }
/** With the default rates a partner gets 10 bulks at once, then one each 10 s. Without them only its open payouts are bounded. */
const cases: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'default rates': withDefaultRates,
  'without rates': { ITEM_RATE_PER_SECOND: '1000000' },
}

const subscribe = async (client: Client, { url }: Endpoint): Promise<void> =>
  void success(await client.post('/v1/webhooks', { url, events: ['transaction.status.changed'] }))

type Sent = { readonly requests: number; readonly accepted: number; readonly webhooks: number }

/** The other process: a partner that sends bulks as fast as it is allowed, and receives the webhooks of all payouts. */
async function sendBulks(baseUrl: string, credentials: Credentials, bulks: number): Promise<void> {
  const client = createClient(baseUrl, credentials)
  const endpoint = await startEndpoint()
  await subscribe(client, endpoint)
  const beneficiaryId = textAt(await createBeneficiary(client), 'id')
  let requests = 0
  let accepted = 0
  const report = () => process.send?.({ requests, accepted, webhooks: endpoint.received.length } satisfies Sent)
  const post = async (): Promise<void> => {
    while (requests < bulks) {
      requests += 1
      const payout = () => ({ amount: 0.01, currency: 'EUR', beneficiaryId, idempotencyKey: randomUUID() })
      const payouts = Array.from({ length: payoutsPerBulk }, payout)
      const body = { mode: 'BestEffort', idempotencyKey: randomUUID(), payouts }
      const { status, headers } = await client.post('/v1/payouts/bulk', body)
      if (status === 200) accepted += 1
      else if (status === 429) await pause(Number(headers['retry-after']) * 1000)
      else throw new Error(`a bulk got ${status}`)
      report()
    }
  }
  process.on('message', () => {
    report()
    process.exit(0)
  })
  process.send?.('ready')
  await Promise.all(Array.from({ length: bulksAtOnce }, post))
}

type Created = { readonly reference: string; readonly at: number; readonly answeredMs: number }
type Found = { readonly median: number; readonly p99: number; readonly max: number; readonly count: number }

const found = (values: readonly number[]): Found => {
  const sorted = values.toSorted((one, other) => one - other)
  const at = (share: number) => sorted[Math.floor(share * (sorted.length - 1))] ?? 0
  return { median: at(0.5), p99: at(0.99), max: at(1), count: sorted.length }
}

type Neighbour = {
  readonly client: Client
  readonly beneficiaryId: string
  readonly arrivals: ReadonlyMap<string, readonly { readonly status: string; readonly at: number }[]>
}

/** Creates a payout each 250 ms, whether or not the one before is answered, and waits for the last webhook of each. */
async function measure({ client, beneficiaryId, arrivals }: Neighbour, isOver: () => boolean) {
  const creations: Promise<Created>[] = []
  const create = async (): Promise<Created> => {
    const at = performance.now()
    const payout = success(await client.post('/v1/payouts/fiat', payoutText(beneficiaryId, '0.01')))
    return { reference: textAt(payout, 'reference'), at, answeredMs: performance.now() - at }
  }
  for (let next = performance.now(); !isOver(); next += pauseBetweenPayoutsMs) {
    creations.push(create())
    await pause(Math.max(0, next + pauseBetweenPayoutsMs - performance.now()))
  }
  const created = await Promise.all(creations)
  const arrival = (reference: string) => arrivals.get(reference) ?? []
  const isComplete = ({ reference }: Created) => arrival(reference).some(({ status }) => status === 'Completed')
  await until('each payout has its last webhook', () => created.every(isComplete), lastWebhookMsMax)
  const delays = (index: 0 | -1) =>
    found(created.map(({ reference, at }) => (arrival(reference).at(index)?.at ?? 0) - at))
  return { answer: found(created.map(({ answeredMs }) => answeredMs)), first: delays(0), last: delays(-1) }
}

async function createNeighbour(service: TestService): Promise<Neighbour & { readonly endpoint: Endpoint }> {
  const client = await otherPartner(service)
  const arrivals = new Map<string, { readonly status: string; readonly at: number }[]>()
  const endpoint = await startEndpoint((response, { reference, status }) => {
    const known = arrivals.get(reference) ?? []
    arrivals.set(reference, [...known, { status, at: performance.now() }])
    response.end()
  })
  await subscribe(client, endpoint)
  return { client, arrivals, endpoint, beneficiaryId: textAt(await createBeneficiary(client), 'id') }
}

const say = (line: string) => void process.stdout.write(`${line}\n`)
const shown = ({ median, p99, max }: Found, alone?: Found) =>
  `median ${median.toFixed(0)} ms, p99 ${p99.toFixed(0)} ms, longest ${max.toFixed(0)} ms` +
  (alone
    ? ` (${(median / alone.median).toFixed(1)}, ${(p99 / alone.p99).toFixed(1)}, ${(max / alone.max).toFixed(1)} times)`
    : '')

async function compare(name: string, env: Readonly<Record<string, string>>): Promise<void> {
  const service = await startTestService({ env })
  const neighbour = await createNeighbour(service)
  const during = (ms: number) => {
    const end = performance.now() + ms
    return measure(neighbour, () => performance.now() > end)
  }
  try {
    await during(2000)
    const alone = await during(seconds * 1000)
    const child = fork(fileURLToPath(import.meta.url), [
      `${seconds}`,
      `${bulks}`,
      name,
      service.baseUrl,
      JSON.stringify(service.credentials),
    ])
    let sent: Sent = { requests: 0, accepted: 0, webhooks: 0 }
    const ready = Promise.withResolvers<void>()
    child.on('message', (message) => (message === 'ready' ? ready.resolve() : (sent = message as Sent)))
    const exited = new Promise((resolve) => child.once('exit', resolve))
    await ready.promise
    const start = performance.now()
    const isOver = () => child.exitCode !== null || performance.now() - start > loadSeconds * 1000
    const loaded = await measure(neighbour, isOver)
    child.send('end')
    await exited
    say(
      `${name}: ${sent.requests} bulks of 1,000 sent, ${sent.accepted} taken, ${sent.webhooks} of their webhooks received`,
    )
    for (const what of ['answer', 'first', 'last'] as const) {
      say(`  ${what}, ${alone[what].count} alone: ${shown(alone[what])}`)
      say(`  ${what}, ${loaded[what].count} beside: ${shown(loaded[what], alone[what])}`)
    }
  } finally {
    await neighbour.endpoint.close()
    await service.dispose()
  }
}

const { seconds, bulks } = numbersGiven({ seconds: 30, bulks: 150 }, process.argv.slice(2, 4))
const [ownCase = '', baseUrl, credentialsText = '{}'] = process.argv.slice(4)
if (ownCase !== '' && !Object.hasOwn(cases, ownCase)) throw new Error(`the cases are ${Object.keys(cases).join(', ')}`)
const loadSeconds = 3 * seconds
const wanted = Object.entries(cases).filter(([name]) => ownCase === '' || name === ownCase)
if (baseUrl === undefined) for (const [name, env] of wanted) await compare(name, env)
else await sendBulks(baseUrl, readCredentials(JSON.parse(credentialsText)), bulks)
