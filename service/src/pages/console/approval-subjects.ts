/** Things to approve: a payout, and the payouts of a bulk. */
import { amountText, isUuid } from '../../kernel/index.ts'
import { type Caller, notFound } from '../../kernel/api/index.ts'
import { type BeyondMaximum, readReference } from '../../payouts/controls/index.ts'
import type { Approval } from './approval-page.ts'
import { message, table, time } from './components.ts'
import { inFours, money, referenceText, serviceReference } from './lists.ts'
import { grouped } from './money.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import type { Frame } from './request.ts'
import { type ApprovalWords, approvalTexts, bulkApprovalTexts } from './texts/approvals.ts'
import type { ConsoleView } from './view.ts'

export type Seen = Pick<
  Approval,
  'facts' | 'label' | 'more' | 'needsPasskey' | 'payouts' | 'requestedName' | 'hasMakerLeft'
> & {
  readonly text: string
  readonly beyond: BeyondMaximum | undefined
}

/** A thing to approve: how it is shown, and by which operations it is decided. */
export type Subject = {
  /** `payouts`, as in `/console/payouts/{id}/approve`. */
  readonly place: 'payouts' | 'bulk-payouts'
  readonly wordsOf: (view: ConsoleView) => ApprovalWords
  /** The text that the person signs, with what the page shows of it. Refuses as the approval does. */
  readonly see: (view: ConsoleView, caller: Caller, id: string, asked: Asked) => Promise<Seen>
  readonly approve: (call: Call, id: string, seen: Seen) => Promise<unknown>
  readonly reject: (call: Call, id: string, form: (name: string) => string) => Promise<unknown>
}
type Asked = { readonly nonce: string; readonly expiresAt: Date }
type Call = Pick<Parameters<Frame['operate']>[1], 'caller' | 'requestId' | 'ip'>

export const payoutSubject = ({ operate, approvals }: Frame): Subject => ({
  place: 'payouts',
  wordsOf: ({ language }) => approvalTexts[language],
  see: async (view, caller, id, asked) => {
    const t = approvalTexts[view.language]
    const { payout, cause, ...seen } = await approvals.snapshot(caller, id, asked)
    const { amount, currency, creditorName, creditorAccount, reference, remittance, approvalExpiresAt, createdAt } =
      payout
    const counted = readReference(payout.referenceAmount)
    const named = { reference, userReference: remittance ?? undefined }
    const signed = serviceReference(named)
    const sum = `${grouped(view.language, amountText(amount, currency))} ${currency}`
    return {
      ...seen,
      label: fill(t.approve, { amount: sum }),
      facts: [
        [t.amount, sum, 'sum'],
        ...(counted === undefined || counted.rate === '1' ? [] : [[t.counted, countedText(view, counted)] as const]),
        [t.payee, creditorName],
        [t.account, inFours(creditorAccount), 'code'],
        [t.reference, referenceText(named), 'code'],
        // The signature names the reference of the service.
        ...(signed === undefined ? [] : [[t.serviceReference, signed, 'code'] as const]),
        [t.validUntil, time(view, approvalExpiresAt ?? createdAt)],
      ],
      ...(cause === 'payee' ? { more: message('warning', t.payeeMismatch) } : {}),
    }
  },
  approve: (call, id) => operate('approvePayout', { ...call, params: { id } }),
  reject: (call, id, form) =>
    operate('rejectPayout', { ...call, params: { id }, body: { reason: form('reason').trim() } }),
})

/** The amount that the rules over all currencies have counted, and its rate. */
const countedText = (
  { language }: ConsoleView,
  { amount, currency, rate, rateOn }: NonNullable<ReturnType<typeof readReference>>,
) => {
  const sum = `${grouped(language, amountText(amount, currency))} ${currency}`
  return fill(approvalTexts[language].countedText, { amount: sum, rate, day: rateOn })
}

type Waiting = Awaited<ReturnType<Frame['approvals']['snapshotOfBulk']>>
/** Payouts that the page lists, the largest first. */
const shownMax = 10

export const bulkSubject = ({ operate, approvals }: Frame): Subject => ({
  place: 'bulk-payouts',
  wordsOf: ({ language }) => bulkApprovalTexts[language],
  see: async (view, caller, id, asked) => {
    if (!isUuid(id)) throw notFound('bulk')
    const t = bulkApprovalTexts[view.language]
    const { payouts, totals, expiresAt, requesters, ...seen } = await approvals.snapshotOfBulk(caller, id, asked)
    const sums = totals.map(
      ({ amount, currency }) => `${grouped(view.language, amountText(amount, currency))} ${currency}`,
    )
    const count = payouts.length.toLocaleString(view.language)
    return {
      ...seen,
      payouts: payouts.length,
      requestedName: requesters.map(({ requestedName }) => requestedName).join(', '),
      label: fill(t.approve, { count, amount: sums.join(', ') }),
      facts: [
        [t.amount, sums.join(', '), 'sum'],
        [t.payouts, count, 'sum'],
        [t.validUntil, time(view, expiresAt)],
      ],
      more: largest(view, id, payouts),
    }
  },
  approve: (call, bulkId, { payouts = 0 }) =>
    operate('approveBulkPayout', { ...call, params: { bulkId }, body: { payouts } }),
  reject: (call, bulkId, form) => {
    const body = { payouts: Number(form('payouts')), reason: form('reason').trim() }
    return operate('rejectBulkPayout', { ...call, params: { bulkId }, body })
  },
})

function largest(view: ConsoleView, id: string, payouts: Waiting['payouts']): Html {
  const t = bulkApprovalTexts[view.language]
  const shown = payouts.toSorted((one, other) => (one.amount < other.amount ? 1 : -1)).slice(0, shownMax)
  return html`<section aria-labelledby="largest-title">
    <h2 id="largest-title">${t.largest}</h2>
    ${table({
      caption: t.largest,
      columns: [[t.payee, 'head'], t.account, [t.amount, 'number']],
      rows: shown.map(({ id: payoutId, creditorName, creditorAccount, amount, currency }) => [
        html`<a href="${view.root}payouts/${payoutId}">${creditorName}</a>`,
        html`<span class="code">${inFours(creditorAccount)}</span>`,
        money(view, amountText(amount, currency), currency),
      ]),
    })}
    <p><a href="${view.root}bulk-payouts/${id}">${t.all}</a></p>
  </section>`
}
