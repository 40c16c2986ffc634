/** Alerts: one open case for a rule and a subject, which gathers every further transaction until two persons decide it. */
import type { NewCase } from '../../cases/index.ts'
import { amountText, type Currency, newId } from '../../kernel/index.ts'
import type { Tx } from '../../postgres/index.ts'
import type { Active, MonitoringDeps } from './deps.ts'
import type { Evidence, Hit } from './evaluate.ts'

import * as store from './store.ts'

/** Keeps the hits of a rule that it did not find before, each with its alert. `holds`: they are payouts that wait for the decision. */
export async function record(
  { cases, clock }: Pick<MonitoringDeps, 'cases' | 'clock'>,
  tx: Tx,
  partnerId: string,
  rule: Active,
  hits: readonly Hit[],
  holds: boolean,
): Promise<void> {
  const known = await store.foundBefore(
    tx,
    partnerId,
    rule.id,
    hits.map(({ movement: { transactionId } }) => transactionId),
  )
  const fresh = hits.filter(({ movement: { transactionId } }) => !known.has(transactionId))
  if (fresh.length === 0) return
  const now = clock.now()
  const bySubject = Map.groupBy(fresh, ({ subjectId }) => subjectId)
  const open = await openAlerts({ cases }, tx, partnerId, rule.id, [...bySubject.keys()], holds)
  const opened = [...bySubject].flatMap(([subjectId, [first]]) =>
    open.has(subjectId) || first === undefined
      ? []
      : [{ first, row: { partnerId, id: newId(), ruleId: rule.id, version: rule.version, subjectId, openedAt: now } }],
  )
  if (opened.length > 0) {
    await store.insertAlerts(
      tx,
      opened.map(({ row }) => row),
    )
    await cases.record(
      tx,
      opened.map(({ row, first }) => caseOf(rule, row, first)),
    )
  }
  const alertOf = new Map([...open, ...opened.map(({ row }) => [row.subjectId, row.id] as const)])
  await store.insertHits(
    tx,
    [...bySubject].flatMap(([subjectId, own]) =>
      own.map(({ movement: { transactionId, reference }, evidence }) => ({
        ...{ partnerId, ruleId: rule.id, transactionId, alertId: alertOf.get(subjectId) ?? '', reference },
        ...{ evidence: JSON.stringify(shown(evidence, rule.settings.currency)), foundAt: now },
        holds,
      })),
    ),
  )
}

/** The undecided alerts, by subject. A held payment joins no alert with a proposal: the persons decide about what they have seen. */
async function openAlerts(
  { cases }: Pick<MonitoringDeps, 'cases'>,
  tx: Tx,
  partnerId: string,
  ruleId: string,
  subjectIds: readonly string[],
  holds: boolean,
): Promise<ReadonlyMap<string, string>> {
  const open = new Map<string, string>()
  for (const { id, subjectId } of await store.lastAlerts(tx, partnerId, ruleId, subjectIds)) {
    // A decision that comes between would close an alert without the person having seen what joins it.
    const found = await cases.hold(tx, partnerId, id)
    const isOpen = found !== undefined && found.resolution === null
    if (isOpen && (!holds || found.proposalId === null)) open.set(subjectId, id)
  }
  return open
}

const shown = ({ sum, ...evidence }: Evidence, currency: Currency) => ({
  ...evidence,
  ...{ sum: amountText(sum, currency), currency },
})

/** `partner ID`, `customer ID`, or `payee ID`: the oldest beneficiary with the account. */
const subjectText = (partnerId: string, subjectId: string, kind: string): string =>
  `${subjectId === partnerId ? 'partner' : kind === 'many_customers' ? 'payee' : 'customer'} ${subjectId}`

/** The case has the id of the alert. It holds ids and references, and no name. */
function caseOf(
  { id: ruleId, version, name, settings }: Active,
  { partnerId, id, subjectId }: store.AlertRow,
  { movement, evidence }: Hit,
): NewCase {
  return {
    ...{ id, partnerId, kind: 'monitoring_alert', connector: 'ledger', notificationId: `monitoring ${id}` },
    subject: subjectText(partnerId, subjectId, settings.kind),
    report: {
      kind: 'monitoring',
      rule: { id: ruleId, version, name, kind: settings.kind, severity: settings.severity, when: settings.when },
      ...(movement.customerId === null ? {} : { customerId: movement.customerId }),
      reference: movement.reference,
      ...shown(evidence, settings.currency),
    },
    booked: null,
  }
}
