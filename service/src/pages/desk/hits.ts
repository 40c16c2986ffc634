/** The pages of screening hits: the open ones, and one hit with its comparison and decision. A hit with a high score needs two people. */
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { amountText } from '../../kernel/index.ts'
import { kindsDecidedBy, type StaffRole } from '../../people/staff/index.ts'
import {
  type Hit,
  allowedDispositions,
  type HitView,
  type HitOutcome,
  hitOutcomes,
  hitPairKey,
} from '../../screening/index.ts'
import { badge, facts, freeText, identifier, message, money, table, time, wordFor } from '../kit/parts.ts'
import { radioButtons, hiddenField } from '../kit/forms.ts'
import { type FieldReader, pathWithQuery, page, readForm, seeOther } from '../kit/request.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { decidersText } from './kinds.ts'
import { noteField, optionField, valueLabel } from './forms.ts'
import { listName, tableOrEmpty } from './parties.ts'
import {
  readCursor,
  type DeskFrame,
  type FormOption,
  readKey,
  noteCharsMax,
  type Person,
  staffRoute,
} from './request.ts'
import { deskTexts, type DeskTexts } from './texts.ts'
import {
  findButton,
  assignedOwner,
  readWaitingItem,
  runbookLink,
  waitingItemSections,
  type WaitingItemDetails,
} from './things.ts'

type DeskHit = Pick<
  Hit,
  'partnerId' | 'id' | 'name' | 'listedName' | 'source' | 'score' | 'openedAt' | 'proposal' | 'proposedBy'
>

/** The oldest of equal hits. `owner`: the person who investigates it, or null. */
type ListedHit = DeskHit & { readonly owner: string | null; readonly equal: number }

export function hitsPage(
  view: ConsoleView,
  { hits, next }: { readonly hits: readonly ListedHit[]; readonly next: string | null },
): string {
  const { hits: d, queue: q, filters: f } = deskTexts[view.language]
  return shell(view, {
    title: d.hits,
    wide: true,
    main: html`<h1>${d.hits}</h1>
      <p class="lead">${d.hitsText}</p>
      ${tableOrEmpty({
        none: { title: d.none, text: d.noneText },
        caption: d.hits,
        columns: [
          ...([[d.name, 'head'], d.listedName, d.list, [d.score, 'number'], d.opened, q.owner] as const),
          ...([d.proposal, q.runbook] as const),
        ],
        rows: hits.map(({ partnerId, id, name, listedName, source, score, openedAt, owner, equal, ...hit }) => [
          html`<a href="${view.root}hits/${partnerId}/${id}">${name}</a>
            ${equal > 1 && badge('neutral', fill(f.equal, { count: String(equal) }))}`,
          listedName,
          listName(view, source),
          String(score),
          time(view, openedAt),
          owner === null ? badge('warning', q.unowned) : freeText(owner),
          proposalBadge(view, { source, ...hit }) ?? '–',
          runbookLink(view, 'screening-hit'),
        ]),
      })}
      ${next !== null && html`<p class="more"><a class="button" href="${next}">${view.t.nextPage}</a></p>`}`,
  })
}

/** Renders who has proposed which outcome. Undefined without a proposal. */
function proposalBadge(
  view: ConsoleView,
  { proposal, proposedBy }: Pick<DeskHit, 'proposal' | 'proposedBy' | 'source'>,
): Html | undefined {
  const { hits: d, filters: f } = deskTexts[view.language]
  if (proposal === null || proposedBy === null) return undefined
  return badge('warning', fill(f.proposes, { name: proposedBy, verb: d[proposal] }))
}

type HitDetails = DeskHit &
  Readonly<Record<'subjectKind' | 'subjectId' | 'role' | 'status', string>> &
  Readonly<Record<'decidedBy' | 'approvedBy' | 'disposition', string | null>> & {
    readonly compared: HitView
    /** True if the hit was replaced or is gone, so that there is nothing to decide. */
    readonly hasEnded: boolean
    /** Open hits about the same pair, without this one. */
    readonly equal: readonly Pick<DeskHit, 'partnerId' | 'id' | 'openedAt'>[]
    readonly partnerName: string
    readonly decisions: readonly {
      readonly at: Date
      readonly actor: string
      readonly what: string
      readonly found: string | null
      readonly note: string
    }[]
    readonly thing: WaitingItemDetails
    readonly mayDecide: boolean
    readonly roles: readonly StaffRole[]
    readonly said?: HitStep | undefined
    readonly refused?: HitRefusal | undefined
    readonly options: readonly FormOption[]
    /** Values of a refused form, so that nothing typed is lost. */
    readonly typed: FieldReader
  }

/** `field`: the wrong field. Absent if the whole decision is refused. */
type HitRefusal = { readonly error: string; readonly field?: 'outcome' | 'disposition' | 'note' }

/** Results of the form that the page reports. */
const hitSteps = ['decided', 'proposed'] as const
type HitStep = (typeof hitSteps)[number]

export function hitPage(view: ConsoleView, hit: HitDetails): string {
  const { hits: d, queue: q } = deskTexts[view.language]
  const { name, refused, decisions, proposal, proposedBy, said } = hit
  const { entry } = hit.compared
  return shell(view, {
    title: fill(d.hit, { name }),
    wide: true,
    problems: { [hit.mayDecide && !hit.hasEnded ? (refused?.field ?? 'form') : 'form']: refused?.error },
    main: html`<h1>${fill(d.hit, { name })}</h1>
      ${said === 'decided' && message('good', d.saidDecided)}
      ${said === 'proposed' && proposal !== null && message('good', fill(d.saidProposed, { outcome: d[proposal] }))}
      ${facts([
        [d.listedName, hit.listedName],
        [
          d.list,
          `${listName(view, entry.source)} ${entry.reference}, ${wordFor(deskTexts[view.language].entryKinds, entry.kind)}`,
        ],
        [d.published, entry.publishedAt === null ? undefined : time(view, entry.publishedAt)],
        [d.score, String(hit.score)],
        [d.subject, subjectPart(view, hit)],
        [d.partner, html`<a href="${view.root}partners/${hit.partnerId}">${hit.partnerName || hit.partnerId}</a>`],
        [d.opened, time(view, hit.openedAt)],
        [
          d.status,
          hit.decidedBy === null
            ? statusText(view, hit.status)
            : `${statusText(view, hit.status)}: ${decidersText(view, hit.decidedBy, hit.approvedBy)}`,
        ],
        [d.disposition, hit.disposition === null ? undefined : valueLabel(view, 'disposition', hit.disposition)],
        [q.runbook, runbookLink(view, 'screening-hit')],
      ])}
      <p class="message neutral">${d[endTexts[hit.compared.endsBy]]}</p>
      ${comparedParts(view, hit)}
      ${
        proposal !== null &&
        html`<p class="message warning">${fill(d.proposed, { name: proposedBy ?? '', outcome: d[proposal] })}</p>`
      }
      ${decisionForm(view, hit)} ${waitingItemSections(view, hit.thing, hit.typed)}
      ${
        decisions.length > 0 &&
        html`<h2>${d.history}</h2>
          ${table({
            caption: d.history,
            columns: [[d.when, 'head'], d.who, d.what, d.disposition, d.note],
            rows: decisions.map(({ at, actor, what, found, note }) => [
              ...[time(view, at), actor, what],
              ...[found === null ? '–' : valueLabel(view, 'disposition', found), note],
            ]),
          })}`
      }`,
  })
}

const statusText = (view: ConsoleView, status: string): string => {
  const words: Readonly<Record<string, string>> = deskTexts[view.language].hits
  return words[`status-${status}`] ?? status
}

/** Renders the kind of the screened party, with a link to its payout or a button that searches for it. */
function subjectPart(view: ConsoleView, { subjectKind, subjectId, role, partnerId }: HitDetails): Html {
  const d = deskTexts[view.language].hits
  const words: Readonly<Record<string, string>> = d
  const text = html`${words[`subject-${subjectKind}`] ?? subjectKind}
    <span class="soft">${wordFor(deskTexts[view.language].hitRoles, role.replace(/\d+$/, ''))}</span>`
  if (subjectKind === 'payout') return html`<a href="${view.root}payouts/${partnerId}/${subjectId}">${text}</a>`
  if (subjectKind === 'customer' || subjectKind === 'beneficiary')
    return html`${text} ${findButton(view, subjectId, d.findSubject)}`
  return html`${text} ${identifier(view, subjectId, d.subject)}`
}

/**
 * Renders the comparison of the entry with the party: fields, words, held payments, and earlier decisions about the
 * pair.
 */
function comparedParts(view: ConsoleView, { compared, partnerId }: Pick<HitDetails, 'compared' | 'partnerId'>): Html {
  const { fields, words, payments, morePayments, sums, earlier } = compared
  const d = deskTexts[view.language].hits
  const list = (values: readonly string[]) => (values.length === 0 ? '–' : freeText(values.join('; ')))
  const total = sums.map(({ amount, currency }) => money(view, amountText(amount, currency), currency))
  return html`<h2>${d.sides}</h2>
    ${table({
      caption: d.sides,
      columns: [[d.field, 'head'], d.party, d.listed, d.verdict],
      rows: fields
        .filter(({ party, listed }) => party.length + listed.length > 0)
        .map(({ field: name, party, listed, verdict }) => [d[name], list(party), list(listed), d[verdict]]),
    })}
    <h2>${d.compared}</h2>
    ${table({
      caption: d.compared,
      columns: [[d.name, 'head'], d.listedName, d.how, [d.likeness, 'number'], [d.weight, 'number']],
      rows: words.map(({ word, listed, how, kind, likeness, weight }) => [
        ...[word ?? '–', listed ?? '–', howText(view, how, kind)],
        // Only words of a name have a weight.
        ...[String(likeness), kind === undefined || kind === 'name' ? String(weight) : '–'],
      ]),
    })}
    <h2>${d.payments}</h2>
    ${
      payments.length === 0
        ? html`<p class="soft">${d.noPayments}</p>`
        : html`${table({
              caption: d.payments,
              columns: [[d.payment, 'head'], d.since, [d.amount, 'number']],
              rows: payments.map(({ kind, id, reference, since, amount, currency }) => [
                kind === 'payout' ? html`<a href="${view.root}payouts/${partnerId}/${id}">${reference}</a>` : reference,
                time(view, since),
                money(view, amountText(amount, currency), currency),
              ]),
            })}
            <p>
              ${d.sum} ${total.map((each, index) => html`${index > 0 && ', '}${each}`)}${morePayments && `. ${d.more}`}
            </p>`
    }
    <h2>${d.earlier}</h2>
    ${
      earlier.length === 0
        ? html`<p class="soft">${d.noEarlier}</p>`
        : table({
            caption: d.earlier,
            columns: [[d.when, 'head'], d.who, d.what, d.disposition, d.note, d.about],
            rows: earlier.map(({ decidedAt, actor, kind, outcome, disposition, note, name, sameSubject }) => [
              time(view, decidedAt),
              ...[actor, stepText(view, kind, outcome)],
              ...[disposition === null ? '–' : valueLabel(view, 'disposition', disposition), note],
              sameSubject ? d.sameSubject : fill(d.otherSubject, { name }),
            ]),
          })
    }`
}

/** Describes how two words match. `kind`: the kind of a word that is not part of a name. */
const howText = (view: ConsoleView, how: string, kind: string | undefined): string => {
  const said = valueLabel(view, 'how', how)
  return kind === undefined ? said : `${said}: ${valueLabel(view, 'word', kind)}`
}

const stepText = (view: ConsoleView, kind: 'proposed' | 'decided', outcome: HitOutcome): string => {
  const d = deskTexts[view.language].hits
  return `${kind === 'proposed' ? d.stepProposed : d.stepDecided}: ${d[outcome]}`
}

const endTexts = {
  persons: 'endsByPersons',
  change: 'endsByChange',
  revocation: 'endsByRevocation',
  ended: 'endsByOther',
} as const

function outcomeHelp(d: DeskTexts['hits'], source: string) {
  if (source === 'countries') return { clear: d.clearCountryHelp, confirm: d.confirmCountryHelp }
  if (source.startsWith('pep:')) return { clear: d.clearPepHelp, confirm: d.confirmPepHelp }
  return { clear: d.clearHelp, confirm: d.confirmHelp }
}

function decisionForm(view: ConsoleView, hit: HitDetails): Html {
  const { hits: d, queue: q, cases: c } = deskTexts[view.language]
  const { partnerId, id, source, hasEnded, mayDecide, roles, equal, typed, refused, options } = hit
  const help = outcomeHelp(d, source)
  if (hasEnded) return html`<p class="message neutral">${d.ended}</p>`
  if (!mayDecide)
    return html`${message('neutral', fill(c.readOnly, { roles: roles.map((role) => q[role]).join(', ') }))}
      <p><a href="${view.root}deciders">${c.whoDecides}</a></p>`
  const errorOf = (name: string) => (refused?.field === name ? refused.error : undefined)
  const fitting = hitOutcomes.flatMap((outcome) => allowedDispositions(source, outcome))
  const fieldOf = (option: FormOption): Html => {
    const { name } = option
    const given = { value: typed(name), error: errorOf(name), unchosen: true }
    if (name === 'disposition') return optionField(view, 'screening decide', { ...option, values: fitting }, given)
    if (name !== 'outcome') return html``
    return radioButtons({
      ...{ id: name, name, legend: d.outcome, chosen: given.value || undefined, error: given.error },
      options: hitOutcomes.map((value) => ({ value, label: d[value], help: help[value] })),
    })
  }
  return html`<h2>${d.decide}</h2>
    <form method="post" action="${view.root}hits/${partnerId}/${id}/decide">
      ${options.map(fieldOf)} ${equal.length > 0 && equalPart(view, hit)}
      ${noteField(view, 'note', { label: d.note, help: d.noteHelp, value: typed('note'), error: errorOf('note') })}
      <button type="submit" class="primary">${d.decide}</button>
    </form>`
}

/** Offers to decide the other hits about the pair as well. The form sends the ids that the page showed. */
function equalPart(view: ConsoleView, { equal, typed }: HitDetails): Html {
  const d = deskTexts[view.language].hits
  return html`${hiddenField('seen', equal.map(({ id }) => id).join(','))}
    <div class="field">
      <label
        ><input type="checkbox" name="equal" value="yes" ${typed('equal') !== '' && html` checked`} />
        ${fill(d.equal, { count: String(equal.length) })}</label
      >
      <p class="help">${d.equalText}</p>
      <ul>
        ${equal.map(
          (each) =>
            html`<li>
              <a href="${view.root}hits/${each.partnerId}/${each.id}">${time(view, each.openedAt)}</a>
            </li>`,
        )}
      </ul>
    </div>`
}

type HitResult = { readonly id: string; readonly partnerId: string; readonly said: string; readonly isDone: boolean }

/** Renders the page with the result of a decision for each of several hits. */
export function hitResultsPage(view: ConsoleView, { results }: { readonly results: readonly HitResult[] }): string {
  const d = deskTexts[view.language].hits
  const done = results.filter(({ isDone }) => isDone).length
  return shell(view, {
    title: d.results,
    wide: true,
    main: html`<h1>${d.results}</h1>
      ${message(done === results.length ? 'good' : 'warning', fill(d.resultsText, { done: String(done), count: String(results.length) }))}
      ${table({
        caption: d.results,
        columns: [[d.hitId, 'head'], d.what],
        rows: results.map(({ partnerId, id, said }) => [
          html`<a href="${view.root}hits/${partnerId}/${id}">${id}</a>`,
          freeText(said),
        ]),
      })}
      <p><a class="button" href="${view.root}hits">${d.hits}</a></p>`,
  })
}

/** Number of hits read for a page, before equal hits are merged into one row. */
const hitsShown = 200

export function hitRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { db, screening, staff } = frame
  return [
    staffRoute(frame, 'hits', 'GET', '/hits', async (request, { view }) => {
      const rows = await screening.openHits(readCursor(request), hitsShown + 1)
      const shown = rows.slice(0, hitsShown)
      const last = rows.length > hitsShown ? shown.at(-1) : undefined
      const next = last === undefined ? null : `hits?at=${last.openedAt.toISOString()}&after=${last.id}`
      const groups = [...Map.groupBy(shown, hitPairKey).values()].flatMap(([first, ...others]) =>
        first === undefined ? [] : [{ first, equal: others.length + 1 }],
      )
      const keys = groups.map(({ first: { partnerId, id: subject } }) => ({ partnerId, kind: 'hit', subject }) as const)
      const owners = new Map((await staff.assignments.of(db, keys)).map((each) => [each.subject, each]))
      const hits = groups.map(({ first, equal }) => ({
        ...first,
        equal,
        owner: assignedOwner(owners.get(first.id))?.fullName ?? null,
      }))
      return page(request, 200, hitsPage(view, { hits, next }))
    }),
    staffRoute(frame, 'hits', 'GET', '/hits/{partnerId}/{id}', (request, person) => showHit(frame, request, person)),
    staffRoute(frame, 'hits', 'POST', '/hits/{partnerId}/{id}/decide', (request, person) =>
      decideHits(frame, request, person),
    ),
  ]
}

async function showHit(
  frame: DeskFrame,
  request: PublicRequest,
  { view, signed }: Person,
  refused?: HitRefusal,
): Promise<PublicAnswer> {
  const { access, db, screener, screening, staff } = frame
  const { partnerId, id } = readKey(request)
  const hit = await screening.hit(partnerId, id)
  if (hit === undefined) throw notFound('hit')
  const compared = await screener.viewOf(db, hit)
  const decisions = await screening.decisionsOf(db, partnerId, id)
  const deciders = await staff.deciders(db)
  const equal = hit.status === 'open' ? await screening.equalHits(hit) : []
  const said = new URLSearchParams(request.query).get('said')
  const body = hitPage(view, {
    ...hit,
    compared,
    refused,
    options: frame.changes.form('screening decide'),
    equal: equal.filter((each) => each.id !== id),
    partnerName: (await access.namesOf(db, [partnerId])).get(partnerId) ?? '',
    hasEnded: hit.endedAt !== null,
    decisions: decisions.map(({ decidedAt: at, actor, kind, outcome, disposition: found, note }) => ({
      ...{ at, actor, what: stepText(view, kind, outcome), found, note },
    })),
    thing: await readWaitingItem(frame, signed, { partnerId, kind: 'hit', subject: id }),
    roles: deciders.find(({ kind }) => kind === 'screening_hit')?.roles ?? [],
    mayDecide: kindsDecidedBy(deciders, signed.account.role).includes('screening_hit'),
    said: hitSteps.find((each) => each === said),
    typed: readForm(request),
  })
  return page(request, refused === undefined ? 200 : 400, body)
}

/**
 * Decides a hit and, if the person selected it, the other hits about the pair. Each has its own transaction and audit
 * record.
 */
async function decideHits(frame: DeskFrame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { screening, staff } = frame
  const { view, signed } = person
  const key = readKey(request)
  const given = readForm(request)
  const texts = deskTexts[view.language].hits
  const again = (error: string, field?: HitRefusal['field']) =>
    showHit(frame, request, person, { error, ...(field && { field }) })
  const hit = await screening.hit(key.partnerId, key.id)
  if (hit === undefined) throw notFound('hit')
  const outcome = hitOutcomes.find((each) => each === given('outcome'))
  if (outcome === undefined) return again(texts.outcomeWrong, 'outcome')
  const disposition = allowedDispositions(hit.source, outcome).find((each) => each === given('disposition'))
  if (disposition === undefined) return again(texts.dispositionWrong, 'disposition')
  const note = given('note').trim()
  if (note === '' || note.length > noteCharsMax) return again(texts.noteWrong, 'note')
  const seen = new Set(given('equal') === '' ? [] : given('seen').split(','))
  const others =
    seen.size === 0 ? [] : (await screening.equalHits(hit)).filter(({ id }) => id !== key.id && seen.has(id))
  const results: HitResult[] = []
  for (const { partnerId, id } of [hit, ...others])
    try {
      const { proposal } = await staff.decideHit(signed, { partnerId, id, outcome, disposition, note })
      if (others.length === 0)
        return seeOther(pathWithQuery(`../${id}`, { said: proposal === null ? 'decided' : 'proposed' }))
      results.push({ partnerId, id, said: proposal === null ? texts.saidDecided : texts.saidWaits, isDone: true })
    } catch (error) {
      if (!(error instanceof Refusal) || error.code === 'permission_denied') throw error
      if (others.length === 0 && error.code !== 'validation_failed') throw error
      if (others.length === 0) return again(error.detail)
      results.push({ partnerId, id, said: error.detail, isDone: false })
    }
  return page(request, 200, hitResultsPage(view, { results }))
}
