/** How the model tests draw their cases: few in every run of the suite, another seed each time, any seed again on demand. */
import { randomInt } from 'node:crypto'
import type { TestContext } from 'node:test'

/** `MODEL_SEED=<seed> MODEL_RUNS=<count>` repeats a run, or makes a longer one. */
export function drawing(t: TestContext, runs: number) {
  const { MODEL_SEED, MODEL_RUNS } = process.env
  const seed = MODEL_SEED === undefined ? randomInt(2 ** 31) : Number(MODEL_SEED)
  const numRuns = MODEL_RUNS === undefined ? runs : Number(MODEL_RUNS)
  t.diagnostic(`MODEL_SEED=${seed} MODEL_RUNS=${numRuns}`)
  // A case ends in the database; shrinking one for ever would say little more.
  return { seed, numRuns, endOnFailure: false, interruptAfterTimeLimit: 120_000 }
}
