/** The full demo: the remaining groups of operations, and a check that all values of transactions have occurred. */
import type { Check } from '../reconcile.ts'
import { checkoutOfTheDay } from './checkout.ts'
import { exchangeMoney } from './fx.ts'
import { reports } from './reports.ts'
import type { Stage } from './stage.ts'
import { everyValue } from './values.ts'
import { wallets } from './wallets.ts'

/** One after the other: each compares balances that no other part may move meanwhile. */
export async function runFull(stage: Stage): Promise<readonly Check[]> {
  const checks: Check[] = []
  for (const part of [checkoutOfTheDay, exchangeMoney, wallets, everyValue, reports])
    checks.push(...(await part(stage)))
  return checks
}
