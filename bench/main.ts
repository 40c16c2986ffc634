/**
 * `npm run bench`: payouts in interleaved rounds on one PostgreSQL, compared with pgbench and with each other. `--quick` takes
 * the first rows within a minute. `--growth` measures how the cost grows, into `growth.json`. Exit code 1 if an audit fails.
 */
import { join } from 'node:path'
import { loadedContestant, pgbenchContestant } from './contestants.ts'
import { depositsContestant } from './deposits.ts'
import { endedContestant } from './ended.ts'
import { findPgbench } from './environment.ts'
import { fillRows } from './fill.ts'
import { runGrowth } from './growth.ts'
import { measureMemory } from './memory.ts'
import { measureOverload } from './overload.ts'
import type { Postgres } from './postgres.ts'
import { judge, p50, p99, publish, type Row } from './report.ts'
import { type Contestant, runRounds, spreadOf } from './rounds.ts'
import { type Options, readOptions, runBench, say } from './run.ts'
import { connections, createStage, type Service, type Stage } from './stage.ts'

const forms = {
  quick: { rounds: 3, seconds: 0.7, partners: 1000, rows: 10_000_000, payouts: 1000 },
  full: { rounds: 5, seconds: 5, partners: 1000, rows: 10_000_000, payouts: 1_000_000 },
}
const growthForms = {
  quick: { rounds: 2, seconds: 1, rows: 100_000 },
  full: { rounds: 5, seconds: 5, rows: 1_000_000 },
}

const accepted = 'payouts'
/** The whole job, to its end. */
const ended = 'ended payouts'
const hotRow = 'pgbench TPC-B scale 1 (hot row)'
const rows: readonly Row[] = [
  { title: `${accepted} / ${hotRow}`, ours: accepted, peer: 'pgbench 1', floor: 2, aim: 3 },
  { title: `${ended} / ${hotRow}`, ours: ended, peer: 'pgbench 1', floor: 0.5, aim: 0.8 },
  { title: `${accepted} / pgbench TPC-B scale 10`, ours: accepted, peer: 'pgbench 10', floor: 1.2, aim: 2 },
  { title: '1,000 partners / one partner', ours: '1,000 partners', peer: accepted, floor: 0.8, aim: 1 },
  { title: 'payouts on many rows / on none', ours: 'many rows', peer: accepted, floor: 0.9, aim: 1 },
  {
    title: `p99 / p50 at ${connections} connections`,
    ours: accepted,
    peer: accepted,
    floor: 3.5,
    aim: 2.5,
    most: true,
    value: (sample) => p99(sample) / p50(sample),
  },
  { title: 'deposits credited / payouts', ours: 'deposits', peer: accepted, floor: 2, aim: 5 },
]

type Load = Options<keyof (typeof forms)['full']>

async function contestantsOf(postgres: Postgres, stage: Stage, payouts: Service, { form, sizes }: Load) {
  const turn = { seconds: sizes.seconds, leadSeconds: form === 'quick' ? 0.2 : 2 }
  const contestants: Contestant[] = []
  for (const scale of findPgbench() === undefined ? [] : [1, 10])
    contestants.push(await pgbenchContestant(postgres, scale, turn))
  const loaded = (name: string, service: Service) =>
    contestants.push(loadedContestant({ ...service, ...turn, name, kind: 'payout' }))
  contestants.push(endedContestant({ ...(await stage.service('serve', 'serve')), ...turn, name: ended }))
  loaded(accepted, payouts)
  if (form === 'quick') return contestants
  say(`creating ${sizes.partners} partners, and ${sizes.rows.toLocaleString('en')} rows`)
  loaded('1,000 partners', await stage.service('accept', 'partners', { partners: sizes.partners }))
  loaded('many rows', await stage.service('accept', 'rows', { fill: fillRows(sizes.rows, say) }))
  const env = { SANDBOX_BANK_DELAY_MS: '0' }
  const { tally: _payoutsOnly, ...opening } = await stage.service('accept', 'deposits', { env })
  const worker = await stage.start('settle', opening, { env })
  contestants.push(depositsContestant({ ...opening, ...turn, worker }))
  return contestants
}

async function measure(options: Load, postgres: Postgres): Promise<readonly string[]> {
  const { rounds, seconds, payouts: memoryPayouts } = options.sizes
  const stage = createStage(postgres, options.execArgv)
  say('starting the service, with its workers and without')
  const payouts = await stage.service('accept', 'accept')
  const contestants = await contestantsOf(postgres, stage, payouts, options)
  const warmUps = options.form === 'quick' ? 1 : 3
  const { samples, wrong } = await runRounds(contestants, { rounds, warmUps }, postgres, say)
  const rate = spreadOf((samples.get(accepted) ?? []).map((sample) => sample.rate)).median
  const overload = await measureOverload(payouts, { rate, rounds, seconds }, say)
  const memory = await measureMemory(payouts, memoryPayouts, say)
  const after = (await payouts.audit()).map((what) => `after overload and memory: ${what}`)
  await stage.stop()
  const pgbench = findPgbench()
  return publish({
    command: 'npm run bench',
    file: join(import.meta.dirname, 'results.md'),
    settings: postgres.settings,
    head: [
      `${options.form}: ${rounds} interleaved rounds of ${seconds} s a contestant, ${connections} closed-loop connections`,
      pgbench === undefined ? '`pgbench` is not on the PATH: its rows are skipped' : `${pgbench}: -c 16 -j 2, TPC-B`,
    ],
    judged: [...rows.map((row) => judge(row, samples)), ...overload, memory],
    samples,
    notes: [
      'payouts: the complete `POST /v1/payouts/fiat`, on the service without its workers (they can run elsewhere, role `worker`).',
      'ended payouts: from the first acceptance to the end of the last payout, on `serve`, whose workers submit the payouts to the sandbox bank in the same process.',
      'Requests are signed before a sample, which is not counted; the load generator shares the cores of this machine.',
    ],
    audited:
      'Audited after every sample: posted balances sum to zero and equal their transfers, no balance is negative, and every accepted payout is stored once with one event.',
    wrong: [...wrong, ...after],
  })
}

const flags = { growth: { type: 'boolean' } } as const
const options = readOptions(forms, flags)
await runBench((postgres) =>
  options.values['growth'] === true ? runGrowth(readOptions(growthForms, flags), postgres) : measure(options, postgres),
)
