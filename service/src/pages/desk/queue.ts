/** The queue: what needs a person. Cases with their age, owner, last note and runbook, and what else waits. */
import { setTimeout as pause } from 'node:timers/promises'
import { after, secondMs } from '../../kernel/index.ts'
import type { WaitingThing } from '../../people/staff/index.ts'
import { badge, call, empty, freeText, table, time } from '../kit/parts.ts'
import { pager, tabs } from '../kit/lists.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import type { DeskDeps } from './request.ts'
import { type OwnedThing, partnerCell, runbookLink, thingTable } from './things.ts'
import { deskTexts } from './texts.ts'

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
  const d = deskTexts[view.language].queue
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
  const [d, w] = [deskTexts[view.language].queue, deskTexts[view.language].waiting]
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
  const d = deskTexts[view.language].queue
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

/** `late`: the look has not ended yet. `failed`: it ended with an error, which is in the log. */
export type WaitingLook = readonly WaitingThing[] | 'late' | 'failed'

type WaitingDeps = Pick<DeskDeps, 'clock' | 'log'> & {
  readonly waiting: Pick<DeskDeps['waiting'], 'look'>
}

/** A look asks for each partner. */
const rememberedMs = 20 * secondMs
/** The cases do not depend on the look: their page waits for it no longer than this. */
const waitMsDefault = 2 * secondMs

/** Returns what waits, as of at most 20 seconds ago. Callers at the same time share a look, also one that takes longer than they wait. */
export function createWaiting(deps: WaitingDeps, waitMs = waitMsDefault): () => Promise<WaitingLook> {
  let last: { until: Date | undefined; readonly found: Promise<WaitingLook> } | undefined
  const start = () => {
    const own: NonNullable<typeof last> = {
      until: undefined,
      found: deps.waiting.look().then(
        (found) => {
          own.until = after(deps.clock.now(), rememberedMs)
          return found
        },
        (err: unknown) => {
          deps.log.error({ err }, 'what waits at the desk could not be read')
          last = undefined
          return 'failed'
        },
      ),
    }
    return own
  }
  return async () => {
    if (last?.until !== undefined && deps.clock.now() >= last.until) last = undefined
    last ??= start()
    const timer = new AbortController()
    const late = pause(waitMs, 'late' as const, { signal: timer.signal }).catch(() => 'late' as const)
    try {
      return await Promise.race([last.found, late])
    } finally {
      timer.abort()
    }
  }
}
