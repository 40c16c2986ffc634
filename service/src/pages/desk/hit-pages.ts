/** The open hits of screening, and the page of one hit: what was compared, and the decision. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { badge, call, choices, empty, field, table, time } from '../console/components.ts'
import { facts, freeText } from '../console/lists.ts'
import { type ConsoleView, shell } from '../console/view.ts'
import { hitTexts } from './hit-texts.ts'
import { deskTexts } from './texts.ts'
import { thingParts, type ThingShown } from './thing-parts.ts'

export type DeskHit = {
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
  const d = hitTexts[view.language]
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
                deskTexts[view.language].owner,
                d.proposal,
              ],
              rows: hits.map(({ partnerId, id, name, listedName, source, score, openedAt, owner, proposedBy }) => [
                html`<a href="${view.root}hits/${partnerId}/${id}">${name}</a>`,
                listedName,
                source,
                String(score),
                time(view, openedAt),
                owner === null ? badge('warning', deskTexts[view.language].unowned) : freeText(owner),
                proposedBy === null ? badge('neutral', d.open) : badge('warning', proposedBy),
              ]),
            })
      }
      ${next !== null && html`<p class="more"><a class="button" href="${next}">${view.t.nextPage}</a></p>`}`,
  })
}

type Shown = DeskHit & {
  readonly reference: string
  readonly subjectKind: string
  readonly subjectId: string
  readonly role: string
  readonly births: readonly string[]
  readonly programmes: readonly string[]
  readonly words: readonly { readonly word: string | null; readonly listed: string | null; readonly how: string }[]
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
  readonly thing: ThingShown
  readonly mayDecide: boolean
  readonly error?: string
  /** Values of a refused form, so that nothing typed is lost. */
  readonly typed: (name: string) => string
}

export function hitPage(view: ConsoleView, hit: Shown): string {
  const d = hitTexts[view.language]
  const { name, error, decisions, proposal, proposedBy } = hit
  return shell(view, {
    title: fill(d.hit, { name }),
    wide: true,
    problems: { form: error },
    main: html`<h1>${fill(d.hit, { name })}</h1>
      ${facts([
        [d.listedName, hit.listedName],
        [d.list, `${hit.source} ${hit.reference}`],
        [d.score, String(hit.score)],
        [d.births, hit.births.length === 0 ? undefined : hit.births.join(', ')],
        [d.programmes, hit.programmes.length === 0 ? undefined : hit.programmes.join(', ')],
        [d.subject, `${hit.subjectKind} ${hit.subjectId}, ${hit.role}`],
        [d.partner, hit.partnerId],
        [d.opened, time(view, hit.openedAt)],
        [d.status, hit.decidedBy === null ? hit.status : `${hit.status}: ${hit.decidedBy}`],
      ])}
      <h2>${d.compared}</h2>
      ${table({
        caption: d.compared,
        columns: [[d.name, 'head'], d.listedName, d.how],
        rows: hit.words.map(({ word, listed, how }) => [word ?? '–', listed ?? '–', how]),
      })}
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

function helpOf(d: (typeof hitTexts)['en'], source: string) {
  if (source === 'countries') return { clear: d.clearCountryHelp, confirm: d.confirmCountryHelp }
  if (source.startsWith('pep:')) return { clear: d.clearPepHelp, confirm: d.confirmPepHelp }
  return { clear: d.clearHelp, confirm: d.confirmHelp }
}

function deciding(view: ConsoleView, { partnerId, id, source, hasEnded, mayDecide, typed }: Shown): Html {
  const d = hitTexts[view.language]
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
      ${field({ id: 'note', name: 'note', label: d.note, help: d.noteHelp, value: typed('note'), more: html`maxlength="500"` })}
      <button type="submit" class="primary">${d.decide}</button>
    </form>`
}
