/** The queue page: open cases with age, owner, proposal and runbook, and the other items that await a person. */
import { setTimeout as pause } from 'node:timers/promises'
import {
  type CaseAction,
  type CaseKind,
  type CaseRow,
  caseKinds,
  type OpenCounts,
  readCaseReport,
} from '../../cases/index.ts'
import { after, amountText, dayMs, secondMs } from '../../kernel/index.ts'
import type { WaitingItem } from '../../people/staff/index.ts'
import { badge, emptyState, freeText, money, table, time } from '../kit/parts.ts'
import { filters, pager, tabs } from '../kit/lists.ts'
import { select } from '../kit/forms.ts'
import { pathWithQuery } from '../kit/request.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { actionVerb } from './case-page.ts'
import { kindName, caseRunbook } from './kinds.ts'
import type { DeskDeps } from './request.ts'
import { type OwnedItem, partnerCell, runbookLink, waitingTable } from './things.ts'
import { deskTexts } from './texts.ts'

export const queueTabs = ['all', 'mine', 'unowned'] as const
type QueueTab = (typeof queueTabs)[number]

/** Items other than cases, or the reason why they could not be read. */
export type WaitingItems = readonly OwnedItem[] | Extract<QueueItemsResult, string>

export type QueueCase = {
  readonly row: CaseRow
  readonly proposed: CaseAction | undefined
  readonly lastNote: string | null
}

type QueueContent = {
  readonly cases: readonly QueueCase[]
  readonly tab: QueueTab
  /** The kind that the page shows. Undefined for all. */
  readonly kind: CaseKind | undefined
  /** True to show only items that the person may decide. */
  readonly mine: boolean
  readonly open: OpenCounts
  readonly waiting: WaitingItems
  readonly names: ReadonlyMap<string, string>
  readonly now: Date
  readonly next?: string | undefined
  readonly first?: string | undefined
}

export function queuePage(view: ConsoleView, shown: QueueContent): string {
  const { root } = view
  const { queue: d, deciders } = deskTexts[view.language]
  const { cases, tab, kind, mine, waiting, names, next, first } = shown
  const linkTo = (more: Readonly<Record<string, string | undefined>>) =>
    pathWithQuery(`${root}queue`, {
      show: tab === 'all' ? undefined : tab,
      kind,
      decidable: mine ? 'yes' : undefined,
      ...more,
    })
  const items = queueTabs.map((each) => ({
    text: d[each],
    href: linkTo({ show: each === 'all' ? undefined : each }),
    current: each === tab,
  }))
  const isFiltered = tab !== 'all' || kind !== undefined || mine
  return shell(view, {
    title: d.queue,
    wide: true,
    main: html`<h1>${d.queue}</h1>
      <p class="lead">${d.queueText} <a href="${root}deciders">${deciders.title}</a></p>
      ${tabs({ label: d.owners, items })} ${filterPart(view, shown)} ${waitingPart(view, waiting, names)}
      ${
        cases.length > 0
          ? casesTable(view, shown)
          : isFiltered
            ? emptyState({
                title: tab === 'mine' ? d.mineEmpty : tab === 'unowned' ? d.unownedEmpty : d.queueEmpty,
                text: d.filteredText,
              })
            : emptyState({ title: d.queueEmpty, text: d.queueEmptyText })
      }
      ${pager(view, { next, first })}`,
  })
}

/** Renders the filters: by kind, with counts, and by whether the person may decide the item. */
function filterPart(view: ConsoleView, { tab, kind, mine, open }: QueueContent): Html {
  const f = deskTexts[view.language].filters
  const known = new Map(open.map((each) => [each.kind, String(each.count)]))
  const options = caseKinds.flatMap((each) => {
    const count = known.get(each) ?? '0'
    if (count === '0' && each !== kind) return []
    return [[each, `${kindName(view, each)} (${count})`] as const]
  })
  return filters(view, {
    path: `${view.root}queue`,
    main: [
      select({ id: 'kind', name: 'kind', label: f.kind, value: kind, any: f.anyKind, options }),
      html`<div class="field">
        <label><input type="checkbox" name="decidable" value="yes" ${mine && html` checked`} /> ${f.decidable}</label>
        ${tab !== 'all' && html`<input type="hidden" name="show" value="${tab}" />`}
      </div>`,
    ],
    active: kind !== undefined || mine,
  })
}

/** Lists the items that await a person. If they could not be read, it shows a message instead of an empty list. */
function waitingPart(view: ConsoleView, waiting: WaitingItems, names: QueueContent['names']): Html | undefined {
  const [d, w] = [deskTexts[view.language].queue, deskTexts[view.language].waiting]
  if (typeof waiting === 'string')
    return html`<h2>${w.title}</h2>
      <p role="status">${badge('warning', w[waiting])}</p>
      <h2>${d.cases}</h2>`
  if (waiting.length === 0) return undefined
  return html`<h2>${w.title}</h2>
    ${waitingTable(view, waiting, names)}
    <h2>${d.cases}</h2>`
}

function ageText(view: ConsoleView, since: Date, now: Date): string {
  const f = deskTexts[view.language].filters
  const days = Math.max(0, Math.floor((now.getTime() - since.getTime()) / dayMs))
  return days === 0 ? f.today : days === 1 ? f.day : fill(f.days, { count: String(days) })
}

function casesTable(view: ConsoleView, { cases, names, now }: QueueContent) {
  const { queue: d, filters: f } = deskTexts[view.language]
  return table({
    caption: d.queue,
    columns: [[d.kind, 'head'], f.age, d.owner, [d.money, 'number'], d.proposal, d.lastNote, d.runbook, d.partner],
    rows: cases.map(({ row, proposed, lastNote }) => {
      const { partnerId, id, kind, openedAt, ownerName, booked, currency, proposedBy } = row
      return [
        html`<a href="${view.root}cases/${partnerId}/${id}">${kindName(view, kind)}</a>
          ${kind === 'monitoring_alert' && html`<span class="soft">${readCaseReport(row).rule?.name ?? ''}</span>`}`,
        html`${ageText(view, openedAt, now)} <span class="soft">${time(view, openedAt)}</span>`,
        ownerName === null ? badge('warning', d.unowned) : freeText(ownerName),
        booked === null || currency === null ? '–' : money(view, amountText(booked, currency), currency),
        proposedBy === null || proposed === undefined
          ? '–'
          : badge('warning', fill(f.proposes, { name: proposedBy, verb: actionVerb(view, proposed, row) })),
        lastNote === null ? '–' : freeText(lastNote),
        runbookLink(view, caseRunbook(kind)),
        partnerCell(names, partnerId),
      ]
    }),
  })
}

/** `late`: the read has not finished yet. `failed`: it failed, and the log has the error. */
export type QueueItemsResult = readonly WaitingItem[] | 'late' | 'failed'

type WaitingDeps = Pick<DeskDeps, 'clock' | 'log'> & {
  readonly waiting: Pick<DeskDeps['waiting'], 'look'>
}

/** Lifetime of the cached items, because reading them queries every partner. */
const cachedMs = 20 * secondMs
/** Maximum time that the queue page waits for the items. After that it shows only the cases. */
const waitMsDefault = 2 * secondMs

/**
 * Returns a function that reads the items that await a person, cached for 20 seconds. Concurrent callers share one
 * read.
 */
export function createWaitingCache(deps: WaitingDeps, waitMs = waitMsDefault): () => Promise<QueueItemsResult> {
  let last: { until: Date | undefined; readonly found: Promise<QueueItemsResult> } | undefined
  const start = () => {
    const own: NonNullable<typeof last> = {
      until: undefined,
      found: deps.waiting.look().then(
        (found) => {
          own.until = after(deps.clock.now(), cachedMs)
          return found
        },
        (err: unknown) => {
          deps.log.error({ err }, 'desk queue items could not be read')
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
