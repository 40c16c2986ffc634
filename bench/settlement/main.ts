/**
 * `npm run bench:settlement`: ended payouts beside slow and hanging banks, many partners, an endpoint, and a full queue, each
 * against the same work without. Interleaved rounds on one PostgreSQL. Exit code 1 if an audit fails.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { Connector } from '../../service/src/rails/index.ts'
import { pgbenchContestant } from '../contestants.ts'
import { cores, findPgbench } from '../environment.ts'
import { fillPgbench, startPostgres } from '../postgres.ts'
import { markdownTable, textTable } from '../report.ts'
import { type Spread, spreadOf } from '../rounds.ts'
import { format, spread } from '../table.ts'
import { startEndpoints } from '../webhooks/receivers.ts'
import { startClaims } from './claims.ts'
import { type Contestant, type Scene, startScene } from './contestants.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    payouts: { type: 'string', default: '3000' },
    partners: { type: 'string', default: '1000' },
    due: { type: 'string', default: '1000000' },
    waiting: { type: 'string', default: '2000' },
  },
})
const [rounds, payouts, partners, due, waiting] = [
  values.rounds,
  values.payouts,
  values.partners,
  values.due,
  values.waiting,
].map(Number) as [number, number, number, number, number]
const say = (line: string) => console.log(line)
const slowMs = 200

/** Every call takes a fifth of a second, as over a real network to a busy bank. */
const slow = (bank: Connector): Connector => ({
  ...bank,
  instruct: async (instructions, options) => {
    await pause(slowMs)
    return bank.instruct(instructions, options)
  },
  find: async (keys, options) => {
    await pause(slowMs)
    return bank.find(keys, options)
  },
})

const hang = () => new Promise<never>(() => undefined)
const hanging: Connector = {
  id: 'hanging',
  forecast: () => ({ possible: false, errorKey: 'BankUnreachable', details: 'The bank does not answer.' }),
  limits: { instructionsPerCallMax: 256, callsMax: 4, callTimeoutMs: 1000 },
  instruct: hang,
  find: hang,
  notifications: hang,
  acknowledge: hang,
  oldestNotification: () => Promise.resolve(null),
}

const postgres = await startPostgres()
const endpoints = await startEndpoints(['ok'])
const [endpointUrl = ''] = endpoints.urls
const scenes: readonly Scene[] = [
  { name: 'one partner', partners: 1 },
  { name: `a bank that takes ${slowMs} ms a call`, partners: 1, wrap: slow },
  { name: 'beside a bank that hangs', partners: 1, other: hanging, waiting },
  { name: `${partners.toLocaleString('en')} partners`, partners },
  { name: 'until one endpoint has every event, 10 in flight', partners: 1, endpointUrl },
  { name: 'until one endpoint has every event, 40 in flight', partners: 1, endpointUrl, inFlight: 40 },
]
const [base, calm, beside, many, told, toldFaster] = scenes.map(({ name }) => name) as readonly string[] as Names
type Names = readonly [string, string, string, string, string, string]
const hotRow = 'pgbench TPC-B scale 1 (hot row)'
const pgbenchSeconds = 4

/** What is compared: ours, its peer, the floor and the aim. */
const comparisons = [
  { ours: base, peer: hotRow, floor: 0.5, aim: 0.8 },
  { ours: told, peer: hotRow, floor: 0.3, aim: 0.5 },
  { ours: toldFaster, peer: hotRow, floor: 0.3, aim: 0.5 },
  { ours: calm, peer: base, floor: 0.8, aim: 0.95 },
  { ours: beside, peer: base, floor: 0.9, aim: 1 },
  { ours: many, peer: base, floor: 0.6, aim: 0.8 },
]

type Row = readonly string[]
const verdict = (ratio: Spread, floor: number, aim: number, most = false) => {
  const reaches = (limit: number) => (most ? ratio.median <= limit : ratio.median >= limit)
  return reaches(aim) ? 'aim reached' : reaches(floor) ? 'floor reached' : 'MISSED'
}

async function measureEnded(wrong: string[]): Promise<readonly Row[]> {
  const contestants: Contestant[] = []
  for (const [index, scene] of scenes.entries()) {
    say(`creating: ${scene.name}`)
    contestants.push(await startScene(await postgres.create(`settlement_${index}`, 'service'), scene))
  }
  if (findPgbench() !== undefined) contestants.push(await pgbench())
  const rates = new Map(contestants.map(({ name }): [string, number[]] => [name, []]))
  for (let round = -1; round < rounds; round += 1) {
    await postgres.analyse()
    for (const at of contestants.keys()) {
      const contestant = contestants[(at + round + 1) % contestants.length]
      if (contestant === undefined) continue
      await postgres.checkpoint()
      const rate = await contestant.sample(round < 0 ? Math.ceil(payouts / 4) : payouts)
      // The first round warms up.
      if (round >= 0) rates.get(contestant.name)?.push(rate)
      wrong.push(...(await contestant.audit()))
    }
    if (round >= 0)
      say(
        `round ${round + 1}: ${[...rates].map(([name, list]) => `${name} ${Math.round(list.at(-1) ?? 0)}`).join(', ')}`,
      )
  }
  for (const contestant of contestants) await contestant.stop()
  return comparisons.flatMap(({ ours, peer, floor, aim }): readonly Row[] => {
    const [mine, theirs] = [rates.get(ours) ?? [], rates.get(peer)]
    if (theirs === undefined) return [[ours, peer, spread(spreadOf(mine)), '', 'skipped', `${floor}`, `${aim}`, '']]
    const ratio = spreadOf(mine.map((rate, round) => rate / (theirs[round] ?? Number.NaN)))
    const figures = [spread(spreadOf(mine)), spread(spreadOf(theirs)), spread(ratio)]
    return [[ours, peer, ...figures, `${floor}`, `${aim}`, verdict(ratio, floor, aim)]]
  })
}

/** The peer: one row that every transaction updates. */
async function pgbench(): Promise<Contestant> {
  const url = await postgres.create('settlement_pgbench', 'empty')
  await fillPgbench(url, 1)
  const { sample } = pgbenchContestant(hotRow, url, { seconds: pgbenchSeconds, leadSeconds: 1 })
  const nothing = () => Promise.resolve()
  return { name: hotRow, sample: async () => (await sample()).rate, audit: () => Promise.resolve([]), stop: nothing }
}

async function measureClaims(): Promise<Row> {
  say(`creating ${due.toLocaleString('en')} due payouts`)
  const few = { claims: await startClaims(await postgres.create('claims_few', 'service'), 256), took: [] as number[] }
  const full = await startClaims(await postgres.create('claims_many', 'service'), due)
  const ratios: number[] = []
  const took: number[] = []
  for (let round = -1; round < rounds; round += 1) {
    const [one, other] = [await few.claims.sample(), await full.sample()]
    // The first round warms up.
    if (round < 0) continue
    ratios.push(other / one)
    few.took.push(one)
    took.push(other)
  }
  await few.claims.stop()
  await full.stop()
  const ratio = spreadOf(ratios)
  const ours = `claim of 256, ${due.toLocaleString('en')} due, in ms`
  const figures = [spread(spreadOf(took)), spread(spreadOf(few.took)), spread(ratio)]
  return [ours, 'the same, 256 due', ...figures, 'at most 1.5', '1.1', verdict(ratio, 1.5, 1.1, true)]
}

const wrong: string[] = []
try {
  const rows = [...(await measureEnded(wrong)), await measureClaims()]
  const titles = ['ended payouts a second', 'peer', 'ours', 'of the peer', 'ratio', 'floor', 'aim', '']
  say(`\n${textTable(titles, rows)}`)
  const { server_version: version = '', ...others } = postgres.settings
  const settings = Object.entries(others).map(([name, value]) => `${name} ${value}`)
  const head = [
    '# Results of `npm run bench:settlement`',
    '',
    `${rounds} interleaved rounds of ${format(payouts)} payouts, accepted and ended in one process; ${cores} cores,`,
    `PostgreSQL ${version} (${settings.join(', ')}), Node ${process.versions.node}. Each cell is a median with its smallest and largest.`,
    wrong.length === 0
      ? 'Audited after every sample: each instruction was received once, money sums to zero, each ended payout has its events.'
      : `THE AUDIT FAILED: ${wrong.join('; ')}`,
    '',
  ]
  await writeFile(join(import.meta.dirname, 'results.md'), `${[...head, ...markdownTable(titles, rows)].join('\n')}\n`)
  if (wrong.length > 0) {
    say(wrong.join('\n'))
    process.exitCode = 1
  }
} finally {
  endpoints.stop()
  await postgres.stop()
}
