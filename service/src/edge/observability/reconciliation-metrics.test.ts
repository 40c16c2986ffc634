import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import { createReconciliationMetrics } from './metrics.ts'

const account = { connector: 'iso20022', account: 'DE02', currency: 'EUR' }
const item = { side: 'difference', kind: 'waiting', amount: -900n, count: 1n, ageMs: 60_000 }

async function linesOf(registry: Registry): Promise<readonly string[]> {
  return (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))
}

test('the series of a vanished item becomes zero, and the series of a kind without open cases disappears', async () => {
  const registry = new Registry()
  const { account: tell, cases } = createReconciliationMetrics(registry)
  tell({ ...account, unexplained: 0n, items: [item], statementAgeMs: 3_600_000 })
  cases([{ connector: 'iso20022', kind: 'unexplained', count: 2 }], 1)
  const labels = 'connector="iso20022",account="DE02",currency="EUR"'
  const of = `{${labels},side="difference",kind="waiting"}`
  assert.deepEqual(await linesOf(registry), [
    `payments_reconciliation_amount_minor${of} -900`,
    `payments_reconciliation_items${of} 1`,
    `payments_reconciliation_oldest_seconds${of} 60`,
    `payments_reconciliation_unexplained_minor{${labels}} 0`,
    `payments_statement_age_seconds{${labels}} 3600`,
    'payments_cases_open{connector="iso20022",kind="unexplained"} 2',
    'payments_case_proposals 1',
  ])
  tell({ ...account, unexplained: 5n, items: [], statementAgeMs: undefined })
  cases([], 0)
  assert.deepEqual(await linesOf(registry), [
    `payments_reconciliation_amount_minor${of} 0`,
    `payments_reconciliation_items${of} 0`,
    `payments_reconciliation_oldest_seconds${of} 0`,
    `payments_reconciliation_unexplained_minor{${labels}} 5`,
    `payments_statement_age_seconds{${labels}} 3600`,
    'payments_case_proposals 0',
  ])
})
