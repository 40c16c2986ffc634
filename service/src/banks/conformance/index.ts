/**
 * The conformance kit checks the guarantees of every connector. It does not need a test framework: any program can call
 * `runChecks(harness)`. See docs/guides/connectors.md.
 */
import { type Check, createContext } from './context.ts'
import { enquiryChecks, forecastChecks, recallChecks, submissionChecks } from './submission.ts'
import type { Harness } from './harness.ts'
import { notificationChecks } from './notifications.ts'
import { outageChecks } from './outages.ts'

export type { BankRecord, Behaviour, Disorder, Fault, Harness } from './harness.ts'

export const checks: readonly Check[] = [
  ...submissionChecks,
  ...forecastChecks,
  ...recallChecks,
  ...outageChecks,
  ...enquiryChecks,
  ...notificationChecks,
]

export type CheckResult = {
  readonly title: string
  /** `not checked`: the bank lacks an ability that the check needs. */
  readonly result: 'passed' | 'failed' | 'not checked'
  /** The message of the failed guarantee, or the missing ability. */
  readonly details: string
  readonly durationMs: number
}

/** Runs the checks one after another, each on a newly opened connector, and reports each result. */
export async function runChecks(
  harness: Harness,
  { only = checks, report }: { readonly only?: readonly Check[]; readonly report?: (result: CheckResult) => void } = {},
): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = []
  for (const check of only) {
    const startMs = performance.now()
    const outcome = await runCheck(harness, check)
    const result = { title: check.title, ...outcome, durationMs: performance.now() - startMs }
    results.push(result)
    report?.(result)
  }
  return results
}

async function runCheck(harness: Harness, check: Check): Promise<Pick<CheckResult, 'result' | 'details'>> {
  const missing = check.needs.filter((ability) => harness.cannot?.includes(ability))
  if (missing.length > 0) return { result: 'not checked', details: `the bank cannot: ${missing.join(', ')}` }
  harness.mend()
  const context = await createContext(harness)
  try {
    await context.drain()
    await check.run(context)
    return { result: 'passed', details: '' }
  } catch (error) {
    return { result: 'failed', details: error instanceof Error ? error.message : String(error) }
  } finally {
    harness.mend()
    await context.close()
  }
}
