/**
 * Processor time of a payout against another version: `node bench/against.ts TREE [rounds] [payouts]`. TREE is the folder of the
 * other version with its packages installed, for example a worktree of an earlier commit. Each version runs its own code on a
 * PostgreSQL of its own, and they take turns. Batches have the same size in both, so that the ratios of one round can be compared
 * on a machine that does other work. `accepted` is the call alone; `ended` is the call and every step of the workers until the
 * sandbox bank has settled the payout, without HTTP, signatures and deliveries.
 */
import { join, resolve } from 'node:path'
import { numbersGiven } from '../scripts/arguments.ts'
import type { Sample, Samples } from './against-child.ts'
import { startChild } from './child.ts'
import { spreadOf } from './rounds.ts'

const [tree, ...numbers] = process.argv.slice(2)
if (tree === undefined) throw new Error('the first argument is the folder of the other version')
const { rounds, payouts } = numbersGiven({ rounds: 12, payouts: 1024 }, numbers)
/** Node compiles hot code only after thousands of calls. */
const warmUps = 3

const kinds = ['accepted', 'ended'] as const
const total = (sample: Sample) => sample.process + sample.database
const shown = (sample: Sample) =>
  `${total(sample).toFixed(3)} ms (process ${sample.process.toFixed(3)}, PostgreSQL ${sample.database.toFixed(3)}), ${Math.round(sample.logBytes)} bytes of log`

const versions = Object.entries({ this: join(import.meta.dirname, '..'), other: tree }).map(([name, folder]) => ({
  name,
  child: startChild('against-child.ts', { args: [resolve(folder)] }),
}))
const pairs: (readonly [Samples, Samples])[] = []
for (let round = -warmUps; round < rounds; round += 1) {
  const measured = new Map<string, Samples>()
  for (const { name, child } of round % 2 === 0 ? versions : versions.toReversed()) {
    const samples = await child.request<Samples>({ payouts })
    measured.set(name, samples)
    for (const kind of kinds)
      console.log(`${round < 0 ? 'warm-up' : `round ${round + 1}`}, ${name}, ${kind}: ${shown(samples[kind])}`)
  }
  if (round >= 0) pairs.push([measured.get('this') as Samples, measured.get('other') as Samples])
}
for (const { child } of versions) {
  await child.request({ stop: true })
  child.stop()
}
for (const kind of kinds) {
  const ratioOf = (value: (sample: Sample) => number) => {
    const { median, min, max } = spreadOf(pairs.map(([ours, others]) => value(ours[kind]) / value(others[kind])))
    return `${median.toFixed(3)} (${min.toFixed(2)} to ${max.toFixed(2)})`
  }
  const parts = [
    `processor time ${ratioOf(total)}`,
    `process ${ratioOf((sample) => sample.process)}`,
    `PostgreSQL ${ratioOf((sample) => sample.database)}`,
    `log ${ratioOf((sample) => sample.logBytes)}`,
  ]
  console.log(`${kind}, this / other: ${parts.join(', ')}`)
}
