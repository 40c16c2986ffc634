/** The queue of cases, and the page of one case with its proposal and decisions. */
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { badge, call, empty, errorSummary, field, hiddenField, table, time } from '../console/components.ts'
import { select } from '../console/lists.ts'
import { type ConsoleView, shell } from '../console/view.ts'
import { deskTexts } from './texts.ts'

export type DeskCase = {
  readonly partnerId: string
  readonly id: string
  readonly kind: string
  readonly openedAt: Date
  /** Amount with its currency. Null: the case has no money. */
  readonly money: string | null
  readonly proposedBy: string | null
}

export function queuePage(
  view: ConsoleView,
  { cases, next }: { readonly cases: readonly DeskCase[]; readonly next: string | null },
): string {
  const { t, root } = view
  const d = deskTexts[view.language]
  const link = ({ partnerId, id, kind }: DeskCase) => html`<a href="${root}cases/${partnerId}/${id}">${kind}</a>`
  return shell(view, {
    title: d.queue,
    wide: true,
    main: html`<h1>${d.queue}</h1>
      <p class="lead">${d.queueText}</p>
      ${
        cases.length === 0
          ? empty({
              title: d.queueEmpty,
              text: d.queueEmptyText,
              more: call(view, 'npm run -s operator -- case list', d.queueCall),
            })
          : table({
              caption: d.queue,
              columns: [
                { label: d.kind, kind: 'head' },
                { label: d.partner },
                { label: d.opened },
                { label: d.money, kind: 'number' },
                { label: d.proposal },
              ],
              rows: cases.map((each) => [
                link(each),
                each.partnerId,
                time(view, each.openedAt),
                each.money ?? '–',
                each.proposedBy === null ? badge('neutral', d.open) : badge('warning', each.proposedBy),
              ]),
            })
      }
      ${next !== null && html`<p class="more"><a class="button" href="${next}">${t.nextPage}</a></p>`}`,
  })
}

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
  readonly mayDecide: boolean
  readonly error?: string
  /** Values of a refused form, so that nothing typed is lost. */
  readonly typed: (name: string) => string
}

/** The kinds whose steps are not those of a difference at a bank. */
const runbooks: Readonly<Record<string, string>> = {
  safeguarding: 'safeguarding',
  monitoring_alert: 'monitoring-alert',
}

export function casePage(view: ConsoleView, shown: Shown): string {
  const d = deskTexts[view.language]
  const { kind, partnerId, openedAt, money, report, ended, error, decisions } = shown
  const facts: readonly (readonly [string, Html | string])[] = [
    [d.partner, partnerId],
    [d.opened, time(view, openedAt)],
    [d.money, money ?? '–'],
    [d.runbook, `docs/runbooks/${runbooks[kind] ?? 'bank-difference'}.md`],
  ]
  return shell(view, {
    title: fill(d.case, { kind }),
    hasErrors: error !== undefined,
    main: html`${error !== undefined && errorSummary(view, [{ text: error }])}
      <h1>${fill(d.case, { kind })}</h1>
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
      ${call(view, report, d.report)}
      ${ended === null ? deciding(view, shown) : html`<p class="message neutral">${fill(d.ended, { resolution: ended.resolution, name: ended.by })}</p>`}
      ${
        decisions.length > 0 &&
        html`<h2>${d.history}</h2>
          ${table({
            caption: d.history,
            columns: [{ label: d.when, kind: 'head' }, { label: d.who }, { label: d.what }, { label: d.note }],
            rows: decisions.map(({ at, actor, kind: what, note }) => [time(view, at), actor, what, note]),
          })}`
      }`,
  })
}

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
