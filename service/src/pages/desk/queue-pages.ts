/** The queue: what needs a person. Cases with their age, owner, last note and runbook, and what else waits. */
import { html, type Html } from '../html.ts'
import { badge, call, empty, freeText, table, time } from '../kit/parts.ts'
import { pager, tabs } from '../kit/lists.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { runbookLink } from './runbooks.ts'
import { deskTexts } from './texts.ts'
import { partnerCell, thingTable } from './thing-parts.ts'
import type { OwnedThing } from './things.ts'
import type { WaitingLook } from './waiting.ts'
import { waitingTexts } from './waiting-texts.ts'

export type DeskCase = {
  readonly partnerId: string
  readonly id: string
  readonly kind: string
  readonly openedAt: Date
  /** Amount with its currency. Null: the case has no money. */
  readonly money: string | null
  readonly proposedBy: string | null
  /** Null: the case has no owner. */
  readonly owner: { readonly id: string; readonly fullName: string } | null
}

export const queueTabs = ['all', 'mine', 'unowned'] as const
export type QueueTab = (typeof queueTabs)[number]

/** The part of the page besides cases. A text: it is not known. */
export type WaitingShown = readonly OwnedThing[] | Extract<WaitingLook, string>

type QueueShown = {
  readonly cases: readonly (DeskCase & { readonly lastNote: string | null })[]
  readonly tab: QueueTab
  readonly waiting: WaitingShown
  /** Names of the partners of cases and things, by their ids. */
  readonly names: ReadonlyMap<string, string>
  readonly next?: string | undefined
  readonly first?: string | undefined
}

/** The kinds whose steps are not those of a difference at a bank. */
const runbooks: Readonly<Record<string, string>> = {
  safeguarding: 'safeguarding',
  monitoring_alert: 'monitoring-alert',
  sanctions_hold: 'screening-hit',
  file_unreadable: 'bank-files',
  file_refused: 'bank-files',
  message_differs: 'bank-files',
  sum_differs: 'bank-files',
  statement_gap: 'bank-files',
  statement_overlap: 'bank-files',
  payment_missing: 'bank-files',
  payee_mismatch: 'bank-files',
}

/** The name of the runbook of a kind of case. */
export const runbookOf = (kind: string): string => runbooks[kind] ?? 'bank-difference'

export function queuePage(view: ConsoleView, { cases, tab, waiting, names, next, first }: QueueShown): string {
  const { root } = view
  const d = deskTexts[view.language]
  const items = queueTabs.map((each) => ({
    text: d[each],
    href: each === 'all' ? `${root}queue` : `${root}queue?show=${each}`,
    current: each === tab,
  }))
  return shell(view, {
    title: d.queue,
    wide: true,
    main: html`<h1>${d.queue}</h1>
      <p class="lead">${d.queueText}</p>
      ${tabs({ label: d.owners, items })} ${waitingPart(view, waiting, names)}
      ${
        cases.length > 0
          ? casesTable(view, cases, names)
          : tab === 'all'
            ? empty({
                title: d.queueEmpty,
                text: d.queueEmptyText,
                more: call(view, 'npm run -s operator -- case list', d.queueCall),
              })
            : empty({ title: tab === 'mine' ? d.mineEmpty : d.unownedEmpty, text: d.filteredText })
      }
      ${pager(view, { next, first })}`,
  })
}

/** Shows what waits, if anything does. A list that is not known is said: it must not look like an empty one. */
function waitingPart(view: ConsoleView, waiting: WaitingShown, names: QueueShown['names']): Html | undefined {
  const [d, w] = [deskTexts[view.language], waitingTexts[view.language]]
  if (typeof waiting === 'string')
    return html`<h2>${w.title}</h2>
      <p role="status">${badge('warning', w[waiting])}</p>
      <h2>${d.cases}</h2>`
  if (waiting.length === 0) return undefined
  return html`<h2>${w.title}</h2>
    ${thingTable(view, waiting, names)}
    <h2>${d.cases}</h2>`
}

function casesTable(view: ConsoleView, cases: QueueShown['cases'], names: QueueShown['names']) {
  const d = deskTexts[view.language]
  return table({
    caption: d.queue,
    columns: [[d.kind, 'head'], d.opened, d.owner, [d.money, 'number'], d.proposal, d.lastNote, d.runbook, d.partner],
    rows: cases.map(({ partnerId, id, kind, openedAt, owner, money, proposedBy, lastNote }) => [
      html`<a href="${view.root}cases/${partnerId}/${id}">${kind}</a>`,
      time(view, openedAt),
      owner === null ? badge('warning', d.unowned) : freeText(owner.fullName),
      money ?? '–',
      proposedBy === null ? badge('neutral', d.open) : badge('warning', proposedBy),
      lastNote === null ? '–' : freeText(lastNote),
      runbookLink(view, runbookOf(kind)),
      partnerCell(names, partnerId),
    ]),
  })
}
