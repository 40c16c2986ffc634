/**
 * `npm run bench:settlement`: ended payouts beside slow and hanging banks, many partners, an endpoint, and a full queue, each
 * against the same work without. Interleaved rounds on one PostgreSQL. Exit code 1 if an audit fails.
 */
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Connector } from '../../service/src/rails/index.ts'
import { pgbenchContestant } from '../contestants.ts'
import { findPgbench } from '../environment.ts'
import { judge, p50, publish, type Row } from '../report.ts'
import { type Contestant, runRounds } from '../rounds.ts'
import { readOptions, runBench, say } from '../run.ts'
import { startEndpoints } from '../webhooks/receivers.ts'
import { startClaims } from './claims.ts'
import { type Scene, startScene } from './contestants.ts'

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

const { form, sizes } = readOptions({
  quick: { rounds: 2, payouts: 500, partners: 100, due: 20_000, waiting: 200 },
  full: { rounds: 5, payouts: 3000, partners: 1000, due: 1_000_000, waiting: 2000 },
})
const { rounds, payouts, partners, due, waiting } = sizes
const hotRow = 'pgbench 1'
const one = 'one partner'
const slowBank = `a bank that takes ${slowMs} ms a call`
const besideHanging = 'beside a bank that hangs'
const many = `${partners.toLocaleString('en')} partners`
const delivered = 'until one endpoint has every event, 10 in flight'
const deliveredFaster = 'until one endpoint has every event, 40 in flight'
const claimsOf = (count: number) => `claim of 256, ${count.toLocaleString('en')} due`
const fewDue = 256

const scenesOf = (endpointUrl: string): readonly Scene[] => [
  { name: one, partners: 1 },
  { name: slowBank, partners: 1, wrap: slow },
  { name: besideHanging, partners: 1, other: hanging, waiting },
  { name: many, partners },
  { name: delivered, partners: 1, endpointUrl },
  { name: deliveredFaster, partners: 1, endpointUrl, inFlight: 40 },
]
const against = (ours: string, peer: string, floor: number, aim: number): Row => ({
  title: `${ours} / ${peer}`,
  ours,
  peer,
  floor,
  aim,
})
const rows: readonly Row[] = [
  against(one, hotRow, 0.5, 0.8),
  against(delivered, hotRow, 0.3, 0.5),
  against(deliveredFaster, hotRow, 0.3, 0.5),
  against(slowBank, one, 0.8, 0.95),
  against(besideHanging, one, 0.9, 1),
  against(many, one, 0.6, 0.8),
  {
    ...against(claimsOf(due), claimsOf(fewDue), 1.5, 1.1),
    title: `milliseconds of a ${claimsOf(due)} / ${fewDue} due`,
    most: true,
    shown: p50,
    value: (ours, peer) => p50(ours) / p50(peer),
  },
]

await runBench(async (postgres) => {
  const endpoints = await startEndpoints(['ok'])
  const stops: (() => unknown)[] = [endpoints.stop]
  const contestants: Contestant[] = []
  const add = (contestant: Contestant & { readonly stop: () => unknown }) => {
    contestants.push(contestant)
    stops.push(contestant.stop)
  }
  for (const [index, scene] of scenesOf(endpoints.urls[0] ?? '').entries()) {
    say(`creating: ${scene.name}`)
    add(await startScene(await postgres.create(`settlement_${index}`, 'service'), scene, payouts))
  }
  if (findPgbench() !== undefined)
    contestants.push(await pgbenchContestant(postgres, 1, { seconds: 4, leadSeconds: 1 }))
  say(`creating ${due.toLocaleString('en')} due payouts`)
  for (const count of [fewDue, due])
    add(await startClaims(claimsOf(count), await postgres.create(`claims_${count}`, 'service'), count))
  const { samples, wrong } = await runRounds(contestants, { rounds, warmUps: 1 }, postgres, say)
  for (const stop of stops.toReversed()) await stop()
  return publish({
    command: 'npm run bench:settlement',
    file: join(import.meta.dirname, 'results.md'),
    settings: postgres.settings,
    head: [`${form}: ${rounds} interleaved rounds of ${payouts} payouts, accepted and ended in one process`],
    judged: rows.map((row) => judge(row, samples)),
    samples,
    notes: ['A sample counts from the first acceptance to the last end, without HTTP and signatures.'],
    audited:
      'Audited after every sample: each instruction was received once, money sums to zero, each ended payout has its events.',
    wrong,
  })
})
