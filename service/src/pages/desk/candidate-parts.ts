/** Candidates for the money of a case, refunds of it, and other cases about the same payment. No name and no account is shown. */
import { badge, identifier, message, table, time } from '../kit/parts.ts'
import { hiddenField } from '../kit/forms.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import type { DeskCase } from './queue-pages.ts'
import { deskTexts } from './texts.ts'

export type ShownCandidate = {
  readonly kind: 'payout' | 'deposit' | 'owner'
  readonly partnerId: string
  readonly id: string
  readonly status: string
  readonly money: string | null
  readonly on: Date | null
  readonly score: number
  readonly agreed: readonly string[]
}

export function candidateTable(view: ConsoleView, candidates: readonly ShownCandidate[]): Html {
  const d = deskTexts[view.language]
  if (candidates.length === 0)
    return html`<h2>${d.candidates}</h2>
      ${message('neutral', d.candidatesNone)}`
  return html`<h2>${d.candidates}</h2>
    <p>${d.candidatesText}</p>
    ${table({
      caption: d.candidates,
      columns: [[d.candidate, 'head'], 'ID', [d.points, 'number'], d.agreed, [d.money, 'number'], d.when, d.partner],
      rows: candidates.map(({ kind, id, partnerId, status, score, agreed, money, on }) => [
        html`${kind} ${status !== '' && badge('neutral', status)}`,
        kind === 'payout'
          ? html`<a href="${view.root}payouts/${partnerId}/${id}">${id}</a>`
          : identifier(view, id, d.candidate),
        String(score),
        agreed.join(', '),
        money ?? '–',
        on === null ? '–' : time(view, on),
        identifier(view, partnerId, d.partner),
      ]),
    })}`
}

export type ShownRefund = {
  readonly payoutId: string
  readonly status: string
  readonly money: string
  /** The bank has paid it: it can be asked for the money. */
  readonly isPaid: boolean
}

/** The refunds of a payment that its bank has taken back. `recall`: the address of the form; undefined: the reader may not use it. */
export function refundTable(
  view: ConsoleView,
  partnerId: string,
  refunds: readonly ShownRefund[],
  recall: string | undefined,
): Html {
  const d = deskTexts[view.language]
  return html`<h2>${d.refunds}</h2>
    <p>${d.refundsText}</p>
    ${table({
      caption: d.refunds,
      columns: [[d.refund, 'head'], d.status, [d.money, 'number'], ''],
      rows: refunds.map(({ payoutId, status, money, isPaid }) => [
        html`<a href="${view.root}payouts/${partnerId}/${payoutId}">${payoutId}</a>`,
        badge('neutral', status),
        money,
        isPaid && recall !== undefined
          ? html`<form method="post" action="${recall}">
              ${hiddenField('payout', payoutId)}<button type="submit">${d.recallRefund}</button>
            </form>`
          : '',
      ]),
    })}`
}

type Related = Pick<DeskCase, 'partnerId' | 'id' | 'kind' | 'openedAt'> & { readonly resolution: string | null }

export function relatedTable(view: ConsoleView, related: readonly Related[]): Html {
  const d = deskTexts[view.language]
  return html`<h2>${d.related}</h2>
    ${table({
      caption: d.related,
      columns: [[d.kind, 'head'], d.opened, d.action],
      rows: related.map(({ partnerId, id, kind, openedAt, resolution }) => [
        html`<a href="${view.root}cases/${partnerId}/${id}">${kind}</a>`,
        time(view, openedAt),
        resolution ?? d.open,
      ]),
    })}`
}
