/** The page of lifecycles, from the tables of transitions: a diagram and a table of rows for each. */
import { type Lifecycle, type Transition, findTransition } from '../../service/src/lifecycle/index.ts'
import { classifyReport } from '../../service/src/lifecycle/engine.ts'
import { depositLifecycle } from '../../service/src/deposits/lifecycle.ts'
import { payoutLifecycle } from '../../service/src/payouts/lifecycle.ts'
import { recallLifecycle } from '../../service/src/payouts/recalls/lifecycle.ts'
import { markdownTable } from '../../service/src/kernel/index.ts'

const code = (names: readonly string[] = []) => names.map((name) => `\`${name}\``).join(', ')
const rowsOf = ({ transitions }: Lifecycle): readonly (readonly [string, Transition])[] => Object.entries(transitions)

function diagram(lifecycle: Lifecycle): string {
  const rows = rowsOf(lifecycle)
  const arrows = rows.flatMap(([name, { from, to, by, ledger }]) => {
    const label = `${name} (${by.join(' or ')})${ledger === undefined ? '' : `, ${ledger}`}`
    return (from.length === 0 ? ['[*]'] : from).map((status) => `  ${status} --> ${to}: ${label}`)
  })
  const ends = reached(lifecycle).filter((status) => !rows.some(([, { from }]) => from.includes(status)))
  return ['```mermaid', 'stateDiagram-v2', ...arrows, ...ends.map((status) => `  ${status} --> [*]`), '```'].join('\n')
}

const reached = (lifecycle: Lifecycle): readonly string[] =>
  lifecycle.statuses.filter((status) => rowsOf(lifecycle).some(([, { to }]) => to === status))

function unreached(lifecycle: Lifecycle): string {
  const others = lifecycle.statuses.filter((status) => !reached(lifecycle).includes(status))
  return others.length === 0 ? '' : `\nThe contract also has ${code(others)}. No transition leads there.\n`
}

function triggersOf({ on, impliedBy }: Transition): string {
  return impliedBy === undefined ? code(on) : `${code(on)}; implied by ${code(impliedBy)}`
}

const transitionTable = (lifecycle: Lifecycle): string =>
  markdownTable(
    ['transition', 'from', 'to', 'cause', 'by', 'trigger', 'ledger', 'steps', 'transaction', 'event', 'error key'],
    rowsOf(lifecycle).map(([name, row]) => [
      name,
      code(row.from),
      code([row.to]),
      row.cause,
      row.by.join(', '),
      triggersOf(row),
      row.ledger ?? '',
      code(row.steps),
      row.concludes === undefined ? '' : code([row.concludes]),
      row.event === undefined ? '' : code([row.event]),
      row.errorKey === undefined ? '' : code([row.errorKey]),
    ]),
  )

/** Renders the meaning of each bank report in each status of a payment. */
function reportTable(lifecycle: Lifecycle): string {
  const statuses = reached(lifecycle)
  const ofBank = rowsOf(lifecycle).filter(([, { by }]) => by.includes('bank'))
  const triggers = lifecycle.triggers.filter((trigger) =>
    ofBank.some(([, row]) => [...row.on, ...(row.impliedBy ?? [])].includes(trigger) && !row.by.includes('worker')),
  )
  const meaning = (status: string, trigger: string) =>
    findTransition(lifecycle, status, trigger)?.name ?? classifyReport(lifecycle, status, trigger)
  return markdownTable(
    ['status', ...triggers.map((trigger) => code([trigger]))],
    statuses.map((status) => [code([status]), ...triggers.map((trigger) => meaning(status, trigger))]),
  )
}

const section = (title: string, lifecycle: Lifecycle): string => `## ${title}

${diagram(lifecycle)}
${unreached(lifecycle)}
${transitionTable(lifecycle)}

What each report of the bank means in each status:

${reportTable(lifecycle)}
`

export const lifecyclesPage = (): string => `# Lifecycles

The status of a payment or a recall changes only by a row of these tables. The engine in \`service/src/lifecycle/\` applies them: it locks the
payments, judges each trigger by the recorded status, and the module writes all transitions of a batch in one transaction.

- **By** says who may cause the transition: the \`worker\` under its lease, the \`bank\` by a notification, the \`time\`, the
  \`operator\`, or the \`partner\` by a request. The engine checks it.
- **Trigger** is what the service hears. An implied transition is made first, and the trigger is then applied to the status that it
  leads to. A pair of status and trigger that is in no row changes nothing.
- **A report of the bank** that changes nothing is a \`repeat\` of what is known; or \`early\`, and the bank is left to repeat it; or a
  \`contradiction\`, whose money goes to suspense with a [case](../operations.md#cases).
- **Ledger** is the effect on the money ([how money is booked](../architecture.md#how-money-is-booked)). A refund is a new transaction,
  which completes at once.
- **Steps** are added to the timeline of the transaction. **Transaction** is its final status, which also appends
  \`transaction.status.changed\`.
- **Event** is appended for a payment of a customer. The partner's own payouts have only \`transaction.status.changed\`.
- **Error key** is the one of the transaction. Where a failing transition has none here, its trigger brings it.

${section('Payouts', payoutLifecycle)}
${section('Deposits', depositLifecycle)}
${section('Recalls', recallLifecycle)}`
