/** Seed and size of the property-based model tests: few cases and a new seed in every run. */
import { randomInt } from 'node:crypto'
import type { TestContext } from 'node:test'
import fc from 'fast-check'

/** `MODEL_SEED=<seed> MODEL_RUNS=<count>` repeats a run or makes it longer. */
export function drawing(t: TestContext, runs: number) {
  const { MODEL_RUNS } = process.env
  const seed = drawSeed(t)
  const numRuns = MODEL_RUNS === undefined ? runs : Number(MODEL_RUNS)
  t.diagnostic(`MODEL_RUNS=${numRuns}`)
  // Every case runs against the database, so that the time for shrinking is limited.
  return { seed, numRuns, endOnFailure: false, interruptAfterTimeLimit: 120_000 }
}

/** `MODEL_SEED=<seed>` repeats a run. */
export function drawSeed(t: TestContext): number {
  const { MODEL_SEED } = process.env
  const seed = MODEL_SEED === undefined ? randomInt(2 ** 31) : Number(MODEL_SEED)
  t.diagnostic(`MODEL_SEED=${seed}`)
  return seed
}

/** A kind of step that is drawn as often as its weight says. */
export const weighted = <Kind extends string, Fields extends object>(
  weight: number,
  kind: Kind,
  fields: { [Name in keyof Fields]: fc.Arbitrary<Fields[Name]> },
) =>
  ({ weight, arbitrary: fc.record({ kind: fc.constant(kind), ...fields }) }) as {
    weight: number
    arbitrary: fc.Arbitrary<{ kind: Kind } & Fields>
  }
