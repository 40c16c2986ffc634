/** The open hits of screening, and one hit: what was compared, and the decision. Two persons decide a hit of a high score. */
import { notFound, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { amountText } from '../../kernel/index.ts'
import { decidesHits, type SignedStaff } from '../../people/staff/index.ts'
import { type Hit, type HitView, outcomes } from '../../screening/index.ts'
import { badge, call, empty, facts, freeText, money, table, time } from '../kit/parts.ts'
import { choices } from '../kit/forms.ts'
import { page, readForm, seeOther } from '../kit/request.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { noteField } from './forms.ts'
import { afterOf, type DeskFrame, keyOf, noteCharsMax, staffRoute } from './request.ts'
import { deskTexts, type DeskTexts } from './texts.ts'
import { ownerOf, readThing, thingParts, type ThingDetails } from './things.ts'

type DeskHit = {
  readonly partnerId: string
  readonly id: string
  readonly name: string
  readonly listedName: string
  readonly source: string
  readonly score: number
  readonly openedAt: Date
  readonly proposedBy: string | null
}

/** `owner`: the name of the person who looks into it. Null: it has none. */
type ListedHit = DeskHit & { readonly owner: string | null }

export function hitsPage(
  view: ConsoleView,
  { hits, next }: { readonly hits: readonly ListedHit[]; readonly next: string | null },
): string {
  const d = deskTexts[view.language].hits
  return shell(view, {
    title: d.hits,
    wide: true,
    main: html`<h1>${d.hits}</h1>
      <p class="lead">${d.hitsText}</p>
      ${
        hits.length === 0
          ? empty({
              title: d.none,
              text: d.noneText,
              more: call(view, 'npm run -s operator -- screening hits', d.hitsCall),
            })
          : table({
              caption: d.hits,
              columns: [
                [d.name, 'head'],
                d.listedName,
                d.list,
                [d.score, 'number'],
                d.opened,
                deskTexts[view.language].queue.owner,
                d.proposal,
              ],
              rows: hits.map(({ partnerId, id, name, listedName, source, score, openedAt, owner, proposedBy }) => [
                html`<a href="${view.root}hits/${partnerId}/${id}">${name}</a>`,
                listedName,
                source,
                String(score),
                time(view, openedAt),
                owner === null ? badge('warning', deskTexts[view.language].queue.unowned) : freeText(owner),
                proposedBy === null ? badge('neutral', d.open) : badge('warning', proposedBy),
              ]),
            })
      }
      ${next !== null && html`<p class="more"><a class="button" href="${next}">${view.t.nextPage}</a></p>`}`,
  })
}

type Shown = DeskHit & {
  readonly compared: HitView
  readonly subjectKind: string
  readonly subjectId: string
  readonly role: string
  readonly status: string
  readonly decidedBy: string | null
  /** The hit was replaced or is over: nothing is left to decide. */
  readonly hasEnded: boolean
  readonly proposal: string | null
  readonly decisions: readonly {
    readonly at: Date
    readonly actor: string
    readonly what: string
    readonly note: string
  }[]
  readonly thing: ThingDetails
  readonly mayDecide: boolean
  readonly error?: string
  /** Values of a refused form, so that nothing typed is lost. */
  readonly typed: (name: string) => string
}

export function hitPage(view: ConsoleView, hit: Shown): string {
  const d = deskTexts[view.language].hits
  const { name, error, decisions, proposal, proposedBy } = hit
  const { entry } = hit.compared
  return shell(view, {
    title: fill(d.hit, { name }),
    wide: true,
    problems: { form: error },
    main: html`<h1>${fill(d.hit, { name })}</h1>
      ${facts([
        [d.listedName, hit.listedName],
        [d.list, `${entry.source} ${entry.reference}, ${entry.kind}`],
        [d.published, entry.publishedAt === null ? undefined : time(view, entry.publishedAt)],
        [d.score, String(hit.score)],
        [d.subject, `${hit.subjectKind} ${hit.subjectId}, ${hit.role}`],
        [d.partner, hit.partnerId],
        [d.opened, time(view, hit.openedAt)],
        [d.status, hit.decidedBy === null ? hit.status : `${hit.status}: ${hit.decidedBy}`],
      ])}
      <p class="message neutral">${d[endTexts[hit.compared.endsBy]]}</p>
      ${comparedParts(view, hit.compared)}
      ${
        proposal !== null &&
        html`<p class="message warning">${fill(d.proposed, { name: proposedBy ?? '', outcome: proposal })}</p>`
      }
      ${deciding(view, hit)} ${thingParts(view, hit.thing, hit.typed)}
      ${
        decisions.length > 0 &&
        html`<h2>${d.history}</h2>
          ${table({
            caption: d.history,
            columns: [[d.when, 'head'], d.who, d.what, d.note],
            rows: decisions.map(({ at, actor, what, note }) => [time(view, at), actor, what, note]),
          })}`
      }`,
  })
}

/** The entry beside the party, the words that scored, the payments that wait, and what was decided about the pair before. */
function comparedParts(view: ConsoleView, { fields, words, payments, morePayments, sums, earlier }: HitView): Html {
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
        ...[word ?? '–', listed ?? '–', kind === undefined ? how : `${how}: ${kind}`],
        // A title, a place or a number beside a name weighs nothing.
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
              rows: payments.map(({ reference, since, amount, currency }) => [
                reference,
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
            columns: [[d.when, 'head'], d.who, d.what, d.note, d.about],
            rows: earlier.map(({ decidedAt, actor, kind, outcome, note, name, sameSubject }) => [
              time(view, decidedAt),
              ...[actor, `${kind}: ${outcome}`, note],
              sameSubject ? d.sameSubject : fill(d.otherSubject, { name }),
            ]),
          })
    }`
}

const endTexts = {
  persons: 'endsByPersons',
  change: 'endsByChange',
  revocation: 'endsByRevocation',
  ended: 'endsByOther',
} as const

function helpOf(d: DeskTexts['hits'], source: string) {
  if (source === 'countries') return { clear: d.clearCountryHelp, confirm: d.confirmCountryHelp }
  if (source.startsWith('pep:')) return { clear: d.clearPepHelp, confirm: d.confirmPepHelp }
  return { clear: d.clearHelp, confirm: d.confirmHelp }
}

function deciding(view: ConsoleView, { partnerId, id, source, hasEnded, mayDecide, typed }: Shown): Html {
  const d = deskTexts[view.language].hits
  const help = helpOf(d, source)
  if (hasEnded) return html`<p class="message neutral">${d.ended}</p>`
  if (!mayDecide) return html`<p class="message neutral">${d.readOnly}</p>`
  return html`<h2>${d.decide}</h2>
    <form method="post" action="${view.root}hits/${partnerId}/${id}/decide">
      ${choices({
        id: 'outcome',
        name: 'outcome',
        legend: d.outcome,
        chosen: typed('outcome') || undefined,
        options: [
          { value: 'clear', label: d.clear, help: help.clear },
          { value: 'confirm', label: d.confirm, help: help.confirm },
        ],
      })}
      ${noteField(view, 'note', { label: d.note, help: d.noteHelp, value: typed('note') })}
      <button type="submit" class="primary">${d.decide}</button>
    </form>`
}

const hitsShown = 50

const toHit = ({ partnerId, id, name, listedName, source, score, openedAt, proposedBy }: Hit): DeskHit => ({
  ...{ partnerId, id, name, listedName, source, score, openedAt, proposedBy },
})

export function hitRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { db, screener, screening, staff } = frame
  const show = async (request: PublicRequest, view: ConsoleView, signed: SignedStaff, error?: string) => {
    const { partnerId, id } = keyOf(request)
    const hit = await screening.hit(partnerId, id)
    if (hit === undefined) throw notFound('hit')
    const { subjectKind, subjectId, role, status, decidedBy, proposal } = hit
    const compared = await screener.viewOf(db, hit)
    const decisions = await screening.decisionsOf(db, partnerId, id)
    const body = hitPage(view, {
      ...toHit(hit),
      ...{ compared, subjectKind, subjectId, role, status, decidedBy, proposal },
      hasEnded: hit.endedAt !== null,
      decisions: decisions.map(({ decidedAt: at, actor, kind, outcome, note }) => ({
        ...{ at, actor, what: `${kind}: ${outcome}`, note },
      })),
      thing: await readThing(frame, signed, { partnerId, kind: 'hit', subject: id }),
      mayDecide: decidesHits(signed.account.role),
      typed: readForm(request),
      ...(error === undefined ? {} : { error }),
    })
    return page(request, error === undefined ? 200 : 400, body)
  }
  const decide = async (request: PublicRequest, view: ConsoleView, signed: SignedStaff) => {
    const key = keyOf(request)
    const given = readForm(request)
    const texts = deskTexts[view.language].hits
    const outcome = outcomes.find((each) => each === given('outcome'))
    const note = given('note').trim()
    if (outcome === undefined) return show(request, view, signed, texts.outcomeWrong)
    if (note === '' || note.length > noteCharsMax) return show(request, view, signed, texts.noteWrong)
    try {
      await staff.decideHit(signed, { ...key, outcome, note })
      return seeOther(`../${key.id}`)
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'validation_failed') throw error
      return show(request, view, signed, error.detail)
    }
  }
  return [
    staffRoute(frame, 'hits', 'GET', '/hits', async (request, { view }) => {
      const rows = await screening.openHits(afterOf(request), hitsShown + 1)
      const shown = rows.slice(0, hitsShown)
      const last = rows.length > hitsShown ? shown.at(-1) : undefined
      const next = last === undefined ? null : `hits?at=${last.openedAt.toISOString()}&after=${last.id}`
      const keys = shown.map(({ partnerId, id: subject }) => ({ partnerId, kind: 'hit', subject }) as const)
      const owners = new Map((await staff.assignments.of(db, keys)).map((each) => [each.subject, each]))
      const hits = shown.map((hit) => ({ ...toHit(hit), owner: ownerOf(owners.get(hit.id))?.fullName ?? null }))
      return page(request, 200, hitsPage(view, { hits, next }))
    }),
    staffRoute(frame, 'hits', 'GET', '/hits/{partnerId}/{id}', (request, { view, signed }) =>
      show(request, view, signed),
    ),
    staffRoute(frame, 'hits', 'POST', '/hits/{partnerId}/{id}/decide', (request, { view, signed }) =>
      decide(request, view, signed),
    ),
  ]
}
