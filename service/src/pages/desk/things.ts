/**
 * Items other than cases that await a person: their table and page, with the forms to assign an owner and to add a
 * note.
 */
import { uuidPattern } from '../../kernel/index.ts'
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { StepConflict } from '../../cases/index.ts'
import {
  type StaffRole,
  type Assignment,
  type SignedInStaff,
  type AssignmentStep,
  type QueueItemKey,
  queueItemKinds,
  queueItemName,
  type WaitingItem,
} from '../../people/staff/index.ts'
import { badge, facts, freeText, message, table, time, wordFor } from '../kit/parts.ts'
import { field, hiddenField, select } from '../kit/forms.ts'
import { type FieldReader, page, readForm, seeOther } from '../kit/request.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { actionTitle, isActionName } from './acts.ts'
import { customerHref, listName, minorMoney, partnerReference, titledTable } from './parties.ts'
import { type DeskFrame, readNote, type Person, readPersonId, staffRoute } from './request.ts'
import { deskTexts, type Runbook } from './texts.ts'

type WaitingReason = WaitingItem['why']

/** Maximum items of one reason in the queue, because a thousand hits would hide all other items. */
const itemsPerReasonMax = 20

const runbooks: Readonly<Partial<Record<WaitingReason, Runbook>>> = {
  hit: 'screening-hit',
  payoutHeld: 'screening-hit',
  payoutByRule: 'monitoring-alert',
  depositHeld: 'screening-hit',
  payoutUnknown: 'stuck-payout',
  payoutStands: 'stuck-payout',
  depositStands: 'alerts/PaymentsStandStill',
  recallUnsent: 'alerts/PaymentsRecallUnsent',
  recallOverdue: 'recall-overdue',
  connectorFails: 'alerts/PaymentsBankUnreachable',
  poolLow: 'alerts/PaymentsIbanPoolLow',
}
/** Returns the runbook of an item. Undefined if the item's page says what to do. */
const waitingRunbook = (why: WaitingReason): Runbook | undefined => runbooks[why]

/** Returns the path of an item's page, from the root of the desk. Hits and payouts have pages of their own. */
export function waitingItemHref({ partnerId, kind, subject }: QueueItemKey): string {
  if (kind === 'hit') return `hits/${partnerId}/${subject}`
  if (kind === 'payout') return `payouts/${partnerId}/${subject}`
  return `waiting?${new URLSearchParams({ kind, partner: partnerId, id: subject }).toString()}`
}

type Owner = { readonly id: string; readonly fullName: string }
export type OwnedItem = WaitingItem & { readonly owner: Owner | null; readonly lastNote: string | null }

export const assignedOwner = (found: Assignment | undefined): Owner | null =>
  found === undefined || found.ownerId === null ? null : { id: found.ownerId, fullName: found.ownerName ?? '' }

export function withOwners(things: readonly WaitingItem[], assignments: readonly Assignment[]): readonly OwnedItem[] {
  const known = new Map(assignments.map((each) => [queueItemName(each), each]))
  return things.map((thing) => {
    const found = known.get(queueItemName(thing))
    return { ...thing, owner: assignedOwner(found), lastNote: found?.lastNote ?? null }
  })
}

/** Sorts by age. Items without an age come last. */
const oldestFirst = <T extends { readonly since?: Date }>(things: readonly T[]): readonly T[] =>
  things.toSorted((a, b) => (a.since?.getTime() ?? Infinity) - (b.since?.getTime() ?? Infinity) || 0)

/** Keeps at most 20 items of each reason, in order. */
function firstOfEachReason<T extends { readonly why: WaitingReason }>(things: readonly T[]): readonly T[] {
  const counts = new Map<WaitingReason, number>()
  return things.filter(({ why }) => {
    const count = (counts.get(why) ?? 0) + 1
    counts.set(why, count)
    return count <= itemsPerReasonMax
  })
}

/** Links to a runbook by its title. `section`: the heading to link to. */
export const runbookLink = ({ root, language }: ConsoleView, name: Runbook, section?: string): Html =>
  html`<a href="${root}runbooks/${name}${section === undefined ? '' : `#${section}`}"
    >${deskTexts[language].runbooks[name]}</a
  >`

/** Renders a button that searches for an id or reference. It sends a form, so that the text is not in a URL. */
export const findButton = ({ root }: ConsoleView, text: string, label: string): Html =>
  html`<form method="post" action="${root}find">
    ${hiddenField('q', text)}<button type="submit" class="small">${label}<span class="away"> ${text}</span></button>
  </form>`

type OwnedSubject = {
  /** Null without an owner. */
  readonly owner: { readonly id: string; readonly fullName: string } | null
  readonly people: readonly (Owner & { readonly role: StaffRole })[]
  readonly readerId: string
  readonly typed: (name: string) => string
  readonly action: (name: 'assign' | 'remark') => string
  /** Hidden fields that identify the item. Absent if the URL identifies it. */
  readonly fields?: readonly (readonly [name: string, value: string])[]
  readonly words: Readonly<Record<'ownedBy' | 'ownedByNone' | 'ownerText' | 'take' | 'handBack' | 'give', string>>
}

/**
 * Returns the text of a refusal. It states, in the reader's language and time zone, what another person has done
 * meanwhile.
 */
export function refusalText(view: ConsoleView, error: Refusal): Html | string {
  if (!(error instanceof StepConflict)) return error.detail
  const text = fill(deskTexts[view.language].overtaken[error.by], { who: error.who })
  return error.at === null ? text : html`${text} ${time(view, error.at)}.`
}

export function ownerSection(view: ConsoleView, owned: OwnedSubject): Html {
  const { owner, people, readerId, typed, action, fields = [], words } = owned
  const d = deskTexts[view.language].queue
  // The owner on the page. The form is refused if another person has changed it.
  const seen = html`${hiddenField('seen', owner?.id ?? '')} ${fields.map(([name, value]) => hiddenField(name, value))}`
  const others = people.filter((person) => person.id !== owner?.id && person.id !== readerId)
  return html`<h2>${d.owner}</h2>
    <p>${owner === null ? words.ownedByNone : fill(words.ownedBy, { name: owner.fullName })} ${words.ownerText}</p>
    <form method="post" action="${action('assign')}">
      ${seen}
      <div class="buttons">
        ${owner?.id !== readerId && html`<button type="submit" name="owner" value="${readerId}">${words.take}</button>`}
        ${owner !== null && html`<button type="submit" name="owner" value="">${words.handBack}</button>`}
      </div>
    </form>
    ${
      others.length > 0 &&
      html`<form method="post" action="${action('assign')}">
        ${seen}
        <h3>${words.give}</h3>
        ${select({
          ...{ id: 'owner', name: 'owner', label: d.giveTo, value: typed('owner') },
          options: others.map(({ id, fullName, role }) => [id, `${fullName}, ${d[role]}`] as const),
        })}
        <button type="submit">${words.give}</button>
      </form>`
    }
    <h2>${d.remark}</h2>
    <form method="post" action="${action('remark')}">
      ${seen}
      ${field({ id: 'remark', name: 'remark', label: d.remarkNote, help: d.remarkText, value: typed('remark'), more: html`maxlength="500"` })}
      <button type="submit">${d.remark}</button>
    </form>`
}

/** Lists items with their owners, oldest first. Reasons with more than 20 items are listed above the table. */
export function waitingTable(
  view: ConsoleView,
  things: readonly OwnedItem[],
  names: ReadonlyMap<string, string>,
): Html {
  const [d, w] = [deskTexts[view.language].queue, deskTexts[view.language].waiting]
  const shown = oldestFirst(firstOfEachReason(things))
  const cut = [...Map.groupBy(things, ({ why }) => why)].filter(([, each]) => each.length > itemsPerReasonMax)
  const kinds = cut.map(([why]) => w[why]).join(', ')
  return html`${cut.length > 0 && message('neutral', fill(w.more, { shown: String(itemsPerReasonMax), kinds }))}${table(
    {
      caption: w.title,
      columns: [[w.what, 'head'], w.since, w.detail, d.owner, d.proposal, d.lastNote, d.runbook, d.partner],
      rows: shown.map((thing) => [
        html`<a href="${view.root}${waitingItemHref(thing)}">${w[thing.why]}</a>`,
        thing.since === undefined ? '–' : time(view, thing.since),
        detailCell(view, thing),
        thing.owner === null ? badge('warning', d.unowned) : freeText(thing.owner.fullName),
        proposalCell(view, thing),
        thing.lastNote === null ? '–' : freeText(thing.lastNote),
        runbookPart(view, thing.why) ?? '–',
        isOfPartner(thing) ? partnerReference(view, thing.partnerId, names.get(thing.partnerId)) : '–',
      ]),
    },
  )}`
}

function proposalCell(view: ConsoleView, { proposal }: OwnedItem): Html | string {
  const { hits: h, filters: f } = deskTexts[view.language]
  if (proposal === undefined) return '–'
  return badge('warning', fill(f.proposes, { name: proposal.by, verb: h[proposal.outcome] }))
}

/** Shows the name of a partner with its id. */
export const partnerCell = (names: ReadonlyMap<string, string>, partnerId: string): Html =>
  html`${freeText(names.get(partnerId) ?? '')} <span class="soft">${partnerId}</span>`

const runbookPart = (view: ConsoleView, why: WaitingItem['why']): Html | undefined => {
  const name = waitingRunbook(why)
  return name === undefined ? undefined : runbookLink(view, name)
}

const isOfPartner = ({ kind }: QueueItemKey) => kind !== 'pool' && kind !== 'connector' && kind !== 'change'

/** Formats the detail of an item: its status, amount or figure. */
function detailCell(view: ConsoleView, thing: WaitingItem): Html | string {
  const { kind, partnerId, subject, detail } = thing
  const w = deskTexts[view.language].waiting
  if (kind === 'pool') return freeText(`${subject}: ${fill(w.free, { count: detail ?? '' })}`)
  if (kind === 'connector') {
    const trouble = (['heldBack', 'failing', 'file', 'notification', 'payout'] as const).find((each) => each === detail)
    return html`<a href="${view.root}connectors#${subject}">${freeText(subject)}</a>:
      ${trouble === undefined ? '' : w[trouble]}`
  }
  // Changes and reviews link to the page where a person decides them.
  const texts = deskTexts[view.language]
  if (kind === 'change') {
    const name = detail !== undefined && isActionName(detail) ? actionTitle(view, detail) : detail
    return html`<a href="${view.root}changes">${freeText(name)}</a>`
  }
  if (kind === 'review') {
    const risk = wordFor(
      { low: texts.reviews.low, medium: texts.reviews.medium, high: texts.reviews.high },
      detail ?? '',
    )
    return html`<a href="${view.root}${customerHref(partnerId, subject)}">${texts.parties.customer}</a> ${risk}`
  }
  if (kind === 'payout') {
    const status = wordFor(view.t.payoutStatus, detail ?? '–')
    return thing.money === undefined
      ? status
      : html`${minorMoney(view, thing.money.amount, thing.money.currency)} ${status}`
  }
  if (kind === 'hit')
    return fill(w.hitDetail, { list: listName(view, detail ?? ''), score: String(thing.score ?? '–') })
  if (kind === 'deposit') return wordFor(texts.depositStatuses, detail ?? '–')
  return detail ?? '–'
}

/** An item with its reasons, owner and history. */
export type WaitingItemDetails = {
  readonly key: QueueItemKey
  /** The reasons why the item awaits a person. Empty if it no longer does. */
  readonly waits: readonly WaitingItem[]
  readonly owner: Owner | null
  readonly steps: readonly AssignmentStep[]
  readonly people: OwnedSubject['people']
  readonly readerId: string
}

/** Renders why an item awaits a person, the forms for its owner, and its history. Undefined if it was never an item. */
export function waitingItemSections(
  view: ConsoleView,
  shown: WaitingItemDetails,
  typed: (name: string) => string,
): Html | undefined {
  const w = deskTexts[view.language].waiting
  const { key, waits, steps } = shown
  if (waits.length === 0 && steps.length === 0) return undefined
  const fields = [['kind', key.kind] as const, ['partner', key.partnerId] as const, ['id', key.subject] as const]
  const action = (name: string) => `${view.root}waiting/${name}`
  return html`${waits.length === 0 ? message('neutral', `${w.gone} ${w.goneText}`) : key.kind !== 'hit' && waitList(view, waits)}
  ${waits.length > 0 && ownerSection(view, { ...shown, typed, action, fields, words: w })} ${stepTable(view, steps)}`
}

function waitList(view: ConsoleView, waits: readonly WaitingItem[]): Html {
  const w = deskTexts[view.language].waiting
  return html`<h2>${w.waits}</h2>
    ${facts(
      waits.map((thing) => [
        w[thing.why],
        html`${thing.since !== undefined && time(view, thing.since)} ${runbookPart(view, thing.why)}`,
      ]),
    )}`
}

function stepTable(view: ConsoleView, steps: readonly AssignmentStep[]): Html | undefined {
  const [d, w] = [deskTexts[view.language].queue, deskTexts[view.language].waiting]
  return titledTable({
    caption: w.history,
    columns: [[d.when, 'head'], d.who, d.what, d.note],
    rows: steps.map(({ at, actor, kind, note }) => [
      time(view, at),
      freeText(actor),
      deskTexts[view.language].thingSteps[kind],
      freeText(note),
    ]),
  })
}

export function waitingItemPage(
  view: ConsoleView,
  shown: WaitingItemDetails,
  { error, typed }: { readonly error?: string | Html | undefined; readonly typed: (name: string) => string },
): string {
  const [d, w] = [deskTexts[view.language].queue, deskTexts[view.language].waiting]
  const { key, waits } = shown
  const [first] = waits
  const title = first === undefined ? w.subject : w[first.why]
  return shell(view, {
    title,
    problems: { form: error },
    main: html`<h1>${title}</h1>
      ${facts([
        [w.subject, freeText(key.subject)],
        [
          d.partner,
          isOfPartner(key)
            ? html`<a href="${view.root}partners/${key.partnerId}">${d.partner}</a> <code>${key.partnerId}</code>`
            : undefined,
        ],
        [w.detail, first === undefined ? undefined : detailCell(view, first)],
      ])}
      ${waitingItemSections(view, shown, typed) ?? message('neutral', w.gone)}`,
  })
}

const subjectCharsMax = 140

/** Reads the key of an item. Refuses: not_found. */
function readItemKey(given: FieldReader): QueueItemKey {
  const [partnerId, subject] = [given('partner'), given('id')]
  const kind = queueItemKinds.find((each) => each === given('kind'))
  const isId = kind !== 'pool' && kind !== 'connector'
  if (kind === undefined || !uuidPattern.test(partnerId) || (isId && !uuidPattern.test(subject))) throw notFound('page')
  if (subject === '' || subject.length > subjectCharsMax || subject.includes('\0')) throw notFound('page')
  return { partnerId, kind, subject }
}

/** Reads why an item awaits a person, its owner and its history. */
export async function readWaitingItem(
  frame: DeskFrame,
  { account }: SignedInStaff,
  key: QueueItemKey,
): Promise<WaitingItemDetails> {
  const { db, staff, waiting } = frame
  const waits = await waiting.of([key])
  const [found] = await staff.assignments.of(db, [key])
  return {
    ...{ key, waits, owner: assignedOwner(found), readerId: account.id },
    steps: await staff.assignments.stepsOf(key),
    people: await staff.list(db),
  }
}

export function waitingItemRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { staff } = frame
  const show = async (
    request: PublicRequest,
    person: Person,
    key: QueueItemKey,
    error?: string | Html,
  ): Promise<PublicAnswer> => {
    const shown = await readWaitingItem(frame, person.signed, key)
    const body = waitingItemPage(person.view, shown, { error, typed: readForm(request) })
    return page(request, error === undefined ? 200 : 400, body)
  }
  const form = (
    name: string,
    act: (signed: SignedInStaff, key: QueueItemKey, given: FieldReader) => Promise<unknown>,
  ): PublicRoute =>
    staffRoute(frame, 'queue', 'POST', `/waiting/${name}`, async (request, person) => {
      const given = readForm(request)
      const key = readItemKey(given)
      try {
        await act(person.signed, key, given)
        return seeOther(`${person.view.root}${waitingItemHref(key)}`)
      } catch (error) {
        if (!(error instanceof Refusal) || error.code === 'permission_denied') throw error
        return show(request, person, key, refusalText(person.view, error))
      }
    })
  return [
    staffRoute(frame, 'queue', 'GET', '/waiting', (request, person) => {
      const fields = new URLSearchParams(request.query)
      const key = readItemKey((name) => fields.get(name) ?? '')
      return show(request, person, key)
    }),
    form('assign', (signed, key, given) =>
      staff.assignQueueItem(signed, {
        ...key,
        ownerId: readPersonId(given('owner')),
        seen: readPersonId(given('seen')),
      }),
    ),
    form('remark', (signed, key, given) =>
      staff.remarkQueueItem(signed, { ...key, note: readNote(() => given('remark')) }),
    ),
  ]
}
