/** The full demo: what the day leaves out, one part for each group of operations, and the values that have occurred at the end. */
import type { Check } from '../reconcile.ts'
import type { Stage } from './stage.ts'
import { everyValue } from './values.ts'

export async function runFull(stage: Stage): Promise<readonly Check[]> {
  return everyValue(stage)
}
