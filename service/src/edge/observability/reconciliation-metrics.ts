/** Metrics of reconciliation: the components of the difference between banks and ledger, and the open cases. */
import { Gauge, type Registry } from 'prom-client'

type Item = {
  readonly side: string
  readonly kind: string
  readonly amount: bigint
  readonly count: bigint
  readonly ageMs: number
}
export type ReconciliationMetrics = {
  /**
   * Sets the state of an account. `statementAgeMs`: time since the day of its last statement ended; undefined: it has
   * none.
   */
  readonly account: (state: {
    readonly connector: string
    readonly account: string
    readonly currency: string
    readonly unexplained: bigint
    readonly items: readonly Item[]
    readonly statementAgeMs: number | undefined
  }) => void
  readonly cases: (
    kinds: readonly { readonly connector: string; readonly kind: string; readonly count: number }[],
    proposals: number,
  ) => void
}

const ofAccount = ['connector', 'account', 'currency']

export function createReconciliationMetrics(registers: Registry[]): ReconciliationMetrics {
  const items = createItemMetrics(registers)
  const unexplained = new Gauge({
    name: 'payments_reconciliation_unexplained_minor',
    help: 'Difference between ledger and bank that no item explains, in minor units; for `suspense`, between suspense and the open cases',
    labelNames: ofAccount,
    registers,
  })
  const statement = new Gauge({
    name: 'payments_statement_age_seconds',
    help: 'Seconds since the end of the day of the last statement of an account',
    labelNames: ofAccount,
    registers,
  })
  const open = new Gauge({
    name: 'payments_cases_open',
    help: 'Open cases, by connector and kind',
    labelNames: ['connector', 'kind'],
    registers,
  })
  const waiting = new Gauge({
    name: 'payments_case_proposals',
    help: 'Case proposals that wait for a second person',
    registers,
  })
  return {
    account: (state) => {
      const { connector, account, currency } = state
      const labels = { connector, account, currency }
      unexplained.set(labels, Number(state.unexplained))
      if (state.statementAgeMs !== undefined) statement.set(labels, state.statementAgeMs / 1000)
      items(labels, state.items)
    },
    cases: (kinds, proposals) => {
      open.reset()
      for (const { connector, kind, count } of kinds) open.set({ connector, kind }, count)
      waiting.set(proposals)
    },
  }
}

type Labels = { readonly connector: string; readonly account: string; readonly currency: string }

/** An item that has disappeared has the value 0, so that a graph ends there. */
function createItemMetrics(registers: Registry[]): (labels: Labels, items: readonly Item[]) => void {
  const labelNames = [...ofAccount, 'side', 'kind']
  const amounts = new Gauge({
    name: 'payments_reconciliation_amount_minor',
    help: 'Parts of the difference between ledger and bank, and amounts in suspense, by kind, in minor units',
    labelNames,
    registers,
  })
  const counts = new Gauge({
    name: 'payments_reconciliation_items',
    help: 'Number of entries, payments or cases of a part',
    labelNames,
    registers,
  })
  const ages = new Gauge({
    name: 'payments_reconciliation_oldest_seconds',
    help: 'Age of the oldest entry, payment or case of a part',
    labelNames,
    registers,
  })
  const seen = new Map<string, { readonly side: string; readonly kind: string }>()
  return ({ connector, account, currency }, items) => {
    const labels = { connector, account, currency }
    const keyOf = ({ side, kind }: Pick<Item, 'side' | 'kind'>) => [connector, account, currency, side, kind].join(' ')
    const present = new Set(items.map(keyOf))
    for (const [key, { side, kind }] of seen) {
      if (!key.startsWith(`${connector} ${account} ${currency} `) || present.has(key)) continue
      for (const gauge of [amounts, counts, ages]) gauge.set({ ...labels, side, kind }, 0)
    }
    for (const { side, kind, amount, count, ageMs } of items) {
      seen.set(keyOf({ side, kind }), { side, kind })
      amounts.set({ ...labels, side, kind }, Number(amount))
      counts.set({ ...labels, side, kind }, Number(count))
      ages.set({ ...labels, side, kind }, ageMs / 1000)
    }
  }
}
