/** The page of one case: what it may belong to, its owner, proposal and history. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { call, table, time } from '../kit/parts.ts'
import { field, hiddenField, select } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { candidateTable, refundTable, relatedTable, type ShownCandidate, type ShownRefund } from './candidate-parts.ts'
import { ownerParts } from './owner-parts.ts'
import { type DeskCase, runbookOf } from './queue-pages.ts'
import { runbookLink } from './runbooks.ts'
import { deskTexts } from './texts.ts'

type Shown = DeskCase & {
  readonly report: string
  readonly proposal: { readonly id: string; readonly action: string; readonly note: string } | null
  /** Null: the case is open. */
  readonly ended: { readonly resolution: string; readonly by: string } | null
  readonly decisions: readonly {
    readonly at: Date
    readonly actor: string
    readonly kind: string
    readonly note: string
  }[]
  readonly actions: readonly string[]
  /** The payouts of an alert of monitoring. Null: the case is none. */
  readonly standing: { readonly waiting: bigint; readonly left: bigint; readonly ended: bigint } | null
  readonly candidates: readonly ShownCandidate[]
  readonly related: readonly (Pick<DeskCase, 'partnerId' | 'id' | 'kind' | 'openedAt'> & {
    readonly resolution: string | null
  })[]
  readonly refunds: readonly ShownRefund[]
  readonly mayRecall: boolean
  readonly people: readonly { readonly id: string; readonly fullName: string }[]
  /** The person who reads the page. */
  readonly readerId: string
  readonly mayDecide: boolean
  readonly error?: string | Html
  /** Values of a refused form, so that nothing typed is lost. */
  readonly typed: (name: string) => string
}

export function casePage(view: ConsoleView, shown: Shown): string {
  const d = deskTexts[view.language]
  const { kind, partnerId, openedAt, money, report, ended, error, decisions, candidates, related, standing } = shown
  const facts: readonly (readonly [string, Html | string])[] = [
    [d.partner, partnerId],
    [d.opened, time(view, openedAt)],
    [d.money, money ?? '–'],
    ...(standing === null ? [] : [[d.payouts, fill(d.standing, countsOf(standing))] as const]),
    [d.runbook, runbookLink(view, runbookOf(kind))],
  ]
  return shell(view, {
    title: fill(d.case, { kind }),
    problems: { form: error },
    main: html`<h1>${fill(d.case, { kind })}</h1>
      <dl class="facts">
        ${facts.map(
          ([name, value]) =>
            html`<div>
              <dt>${name}</dt>
              <dd>${value}</dd>
            </div>`,
        )}
      </dl>
      <h2>${d.report}</h2>
      ${call(view, report, d.report)} ${money !== null && candidateTable(view, candidates)}
      ${shown.refunds.length > 0 && refundTable(view, partnerId, shown.refunds, shown.mayRecall ? `${view.root}cases/${partnerId}/${shown.id}/recall` : undefined)}
      ${related.length > 0 && relatedTable(view, related)}
      ${ended === null && ownerParts(view, { ...shown, words: d, action: (name) => `${view.root}cases/${partnerId}/${shown.id}/${name}` })}
      ${ended === null ? deciding(view, shown) : html`<p class="message neutral">${fill(d.ended, { resolution: ended.resolution, name: ended.by })}</p>`}
      ${
        decisions.length > 0 &&
        html`<h2>${d.history}</h2>
          ${table({
            caption: d.history,
            columns: [[d.when, 'head'], d.who, d.what, d.note],
            rows: decisions.map(({ at, actor, kind: what, note }) => [time(view, at), actor, what, note]),
          })}`
      }`,
  })
}

const countsOf = (standing: NonNullable<Shown['standing']>) =>
  Object.fromEntries(Object.entries(standing).map(([name, count]) => [name, `${count}`]))

function deciding(view: ConsoleView, shown: Shown): Html {
  const d = deskTexts[view.language]
  const { proposal, proposedBy, partnerId, id, mayDecide, typed } = shown
  const action = (name: string) => `${view.root}cases/${partnerId}/${id}/${name}`
  const noteField = (of: string) =>
    field({ id: `${of}-note`, name: 'note', label: d.note, more: html`maxlength="500"`, value: typed('note') })
  const proposed =
    proposal === null
      ? html`<p>${d.noProposal}</p>`
      : html`<p>${fill(d.proposedBy, { name: proposedBy ?? '', action: proposal.action })}</p>
          <blockquote>${proposal.note}</blockquote>`
  if (!mayDecide)
    return html`<h2>${d.proposal}</h2>
      ${proposed}
      <p class="message neutral">${d.readOnly}</p>`
  return html`<h2>${d.proposal}</h2>
    ${proposed}
    ${
      proposal !== null &&
      html`<form method="post" action="${action('approve')}">
          ${hiddenField('proposal', proposal.id)}
          <button type="submit" class="primary">${d.approve}</button>
        </form>
        <form method="post" action="${action('reject')}">
          ${noteField('reject')}<button type="submit" class="danger">${d.reject}</button>
        </form>`
    }
    <h2>${d.propose}</h2>
    ${proposeForm(view, shown, action('propose'), noteField('propose'))}`
}

function proposeForm(view: ConsoleView, { actions, typed }: Shown, action: string, note: Html): Html {
  const d = deskTexts[view.language]
  const idField = (name: 'payout' | 'customer' | 'toPartner', help: string) =>
    field({ id: name, name, label: d[name], help, optional: true, value: typed(name), more: html`maxlength="64"` })
  return html`<form method="post" action="${action}">
    ${select({ id: 'action', name: 'action', label: d.action, value: typed('action'), options: actions.map((each) => [each, each] as const) })}
    ${idField('payout', d.payoutHelp)} ${idField('customer', d.customerHelp)} ${idField('toPartner', d.toPartnerHelp)}
    ${note}
    <button type="submit">${d.propose}</button>
  </form>`
}
