/** The list of what waits besides cases, the owner and history of one thing, and the page of a thing without one of its own. */
import { badge, facts, freeText, message, table, time } from '../kit/parts.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import type { Step, ThingKey, WaitingThing } from '../../people/staff/index.ts'
import { ownerParts } from './owner-parts.ts'
import { runbookLink } from './runbooks.ts'
import { deskTexts } from './texts.ts'
import {
  oldestFirst,
  type OwnedThing,
  type Owner,
  runbookOfThing,
  someOfEach,
  thingHref,
  thingsPerReasonMax,
} from './things.ts'
import { waitingTexts } from './waiting-texts.ts'

/** Things with their owners, the oldest first. Those beyond the first twenty of a kind are only named. */
export function thingTable(view: ConsoleView, things: readonly OwnedThing[], names: ReadonlyMap<string, string>): Html {
  const [d, w] = [deskTexts[view.language], waitingTexts[view.language]]
  const shown = oldestFirst(someOfEach(things))
  const cut = [...Map.groupBy(things, ({ why }) => why)].filter(([, each]) => each.length > thingsPerReasonMax)
  const kinds = cut.map(([why]) => w[why]).join(', ')
  return html`${
    cut.length > 0 && message('neutral', fill(w.more, { shown: String(thingsPerReasonMax), kinds }))
  }${table({
    caption: w.title,
    columns: [[w.what, 'head'], w.since, w.detail, d.owner, d.lastNote, d.runbook, d.partner],
    rows: shown.map((thing) => [
      html`<a href="${view.root}${thingHref(thing)}">${w[thing.why]}</a>`,
      thing.since === undefined ? '–' : time(view, thing.since),
      detailOf(view, thing),
      thing.owner === null ? badge('warning', d.unowned) : freeText(thing.owner.fullName),
      thing.lastNote === null ? '–' : freeText(thing.lastNote),
      runbookPart(view, thing.why) ?? '–',
      isOfPartner(thing) ? partnerCell(names, thing.partnerId) : '–',
    ]),
  })}`
}

/** The name of a partner, with its id. */
export const partnerCell = (names: ReadonlyMap<string, string>, partnerId: string): Html =>
  html`${freeText(names.get(partnerId) ?? '')} <span class="soft">${partnerId}</span>`

const runbookPart = (view: ConsoleView, why: WaitingThing['why']): Html | undefined => {
  const name = runbookOfThing(why)
  return name === undefined ? undefined : runbookLink(view, name)
}

const isOfPartner = ({ kind }: ThingKey) => kind !== 'pool' && kind !== 'connector' && kind !== 'change'

/** Figures and statuses. A pool and a connector are named. */
function detailOf(view: ConsoleView, { kind, subject, detail }: WaitingThing): Html | string {
  const w = waitingTexts[view.language]
  if (kind === 'pool') return freeText(`${subject}: ${fill(w.free, { count: detail ?? '' })}`)
  if (kind === 'connector') {
    const trouble = (['heldBack', 'failing', 'file', 'notification', 'payout'] as const).find((each) => each === detail)
    return html`<a href="${view.root}connectors#${subject}">${freeText(subject)}</a>:
      ${trouble === undefined ? '' : w[trouble]}`
  }
  // The lists in which a person decides them.
  if (kind === 'change' || kind === 'review') return html`<a href="${view.root}${kind}s">${freeText(detail ?? '')}</a>`
  return detail ?? '–'
}

/** A thing with what its page needs to show and change its owner. */
export type ThingShown = {
  readonly key: ThingKey
  /** The reasons for which it waits. Empty: it no longer does. */
  readonly waits: readonly WaitingThing[]
  readonly owner: Owner | null
  readonly steps: readonly Step[]
  readonly people: readonly Owner[]
  readonly readerId: string
}

/** Shows why a thing waits, the forms of its owner while it does, and its history. Undefined: it does not wait and never had an owner. */
export function thingParts(view: ConsoleView, shown: ThingShown, typed: (name: string) => string): Html | undefined {
  const w = waitingTexts[view.language]
  const { key, waits, steps } = shown
  if (waits.length === 0 && steps.length === 0) return undefined
  const fields = [['kind', key.kind] as const, ['partner', key.partnerId] as const, ['id', key.subject] as const]
  const action = (name: string) => `${view.root}waiting/${name}`
  return html`${waits.length === 0 ? message('neutral', `${w.gone} ${w.goneText}`) : key.kind !== 'hit' && waitList(view, waits)}
  ${waits.length > 0 && ownerParts(view, { ...shown, typed, action, fields, words: w })}
  ${steps.length > 0 && history(view, steps)}`
}

function waitList(view: ConsoleView, waits: readonly WaitingThing[]): Html {
  const w = waitingTexts[view.language]
  return html`<h2>${w.waits}</h2>
    ${facts(
      waits.map((thing) => [
        w[thing.why],
        html`${thing.since !== undefined && time(view, thing.since)} ${runbookPart(view, thing.why)}`,
      ]),
    )}`
}

function history(view: ConsoleView, steps: readonly Step[]): Html {
  const [d, w] = [deskTexts[view.language], waitingTexts[view.language]]
  return html`<h2>${w.history}</h2>
    ${table({
      caption: w.history,
      columns: [[d.when, 'head'], d.who, d.what, d.note],
      rows: steps.map(({ at, actor, kind, note }) => [time(view, at), freeText(actor), kind, freeText(note)]),
    })}`
}

export function thingPage(
  view: ConsoleView,
  shown: ThingShown,
  { error, typed }: { readonly error?: string | Html | undefined; readonly typed: (name: string) => string },
): string {
  const [d, w] = [deskTexts[view.language], waitingTexts[view.language]]
  const { key, waits } = shown
  const [first] = waits
  const title = first === undefined ? w.subject : w[first.why]
  return shell(view, {
    title,
    problems: { form: error },
    main: html`<h1>${title}</h1>
      ${facts([
        [w.subject, freeText(key.subject)],
        [d.partner, isOfPartner(key) ? key.partnerId : undefined],
        [w.detail, first === undefined ? undefined : detailOf(view, first)],
      ])}
      ${thingParts(view, shown, typed) ?? message('neutral', w.gone)}`,
  })
}
