/** Late payments of a checkout session: the list, and the shop's decision to accept or return them. */
import { uuidPattern } from '../../kernel/index.ts'
import { decimalText, type ResponseOf } from '@partner-payments/wire'
import type { PublicAnswer, PublicRequest } from '../../kernel/api/index.ts'
import { html, type Html } from '../html.ts'
import { confirmationDialog, dialogButton, type FieldProblems } from '../kit/forms.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { badge, money, moneyText, section, table, time, type Tone } from '../kit/parts.ts'
import { readId, seeOther } from '../kit/request.ts'
import { fill } from '../language.ts'
import { callOf, type Frame, type Person, refusalProblems, textsWithRefusals } from './request.ts'
import { type ConsoleTexts, texts } from './texts/index.ts'
import { transactionHref } from './transactions.ts'

type LateTexts = ConsoleTexts['checkout']['late']

export type LateRow = {
  readonly id: string
  readonly amount: string
  readonly currency: string
  readonly reason: keyof LateTexts['reasons']
  readonly status: keyof LateTexts['statuses']
  readonly payer: string
  readonly receivedAt: Date
  readonly chooseBy: Date
  readonly acceptedHref?: string | undefined
}

const tones: Readonly<Record<LateRow['status'], Tone>> = {
  Waiting: 'warning',
  Accepted: 'good',
  Returning: 'neutral',
  Returned: 'neutral',
  WithOperator: 'warning',
  Decided: 'neutral',
}

export function latePaymentsSection(
  view: ConsoleView,
  { id, currency, rows, mayChoose }: { id: string; currency: string; rows: readonly LateRow[]; mayChoose: boolean },
): Html {
  const c = texts[view.language].checkout
  const p = texts[view.language].payments
  const shown = table({
    caption: c.late.title,
    columns: [[c.payer, 'head'], c.late.why, p.status, c.late.received, c.late.chooseBy, [p.amount, 'number']],
    rows: rows.map((row) => [
      html`<span class="free">${row.payer}</span>`,
      c.late.reasons[row.reason],
      row.acceptedHref === undefined
        ? badge(tones[row.status], c.late.statuses[row.status])
        : html`<a href="${row.acceptedHref}">${badge(tones[row.status], c.late.statuses[row.status])}</a>`,
      time(view, row.receivedAt),
      time(view, row.chooseBy),
      money(view, row.amount, row.currency),
    ]),
  })
  const waiting = mayChoose ? rows.filter(({ status }) => status === 'Waiting') : []
  return section(
    'late',
    c.late.title,
    html`<p>${c.late.text}</p>
      ${shown} ${waiting.map((row) => choiceDialogs(view, id, currency, row))}`,
  )
}

/** Renders the dialogs that accept or return a late payment. Money in another currency can only be returned. */
function choiceDialogs(view: ConsoleView, sessionId: string, currency: string, row: LateRow): Html {
  const c = texts[view.language].checkout.late
  const sum = moneyText(view, row.amount, row.currency)
  const shown = html`<p><strong>${sum}</strong> ${row.payer}</p>`
  const action = `${view.root}checkout/${sessionId}/late/${row.id}`
  const [accept, giveBack] = [`accept-${row.id}`, `return-${row.id}`]
  const { cancel } = view.t
  return html`<p class="buttons">
      ${row.currency === currency && dialogButton({ id: accept, label: fill(c.acceptLabel, { sum }), about: row.payer })}
      ${dialogButton({ id: giveBack, label: fill(c.returnLabel, { sum }), about: row.payer, tone: 'danger' })}
    </p>
    ${
      row.currency === currency &&
      confirmationDialog({
        id: accept,
        title: fill(c.acceptTitle, { sum }),
        action: `${action}/accept`,
        submit: c.accept,
        about: shown,
        effects: [c.acceptEffect, c.acceptStatus, c.first],
        look: 'primary',
        cancel,
      })
    }
    ${confirmationDialog({
      id: giveBack,
      title: fill(c.returnTitle, { sum }),
      action: `${action}/return`,
      submit: c.giveBack,
      about: shown,
      effects: [c.returnEffect, c.first],
      cancel,
    })}`
}

export const lateRows = (
  view: ConsoleView,
  { latePayments = [] }: ResponseOf<'getCheckoutSession'>,
  readsTransactions: boolean,
): readonly LateRow[] =>
  latePayments.map(({ latePaymentId, amount, debtorName = '', receivedAt, chooseBy, acceptedReference, ...late }) => ({
    ...late,
    id: latePaymentId,
    amount: decimalText(amount),
    payer: debtorName,
    receivedAt: new Date(receivedAt),
    chooseBy: new Date(chooseBy),
    acceptedHref:
      readsTransactions && acceptedReference !== undefined ? transactionHref(view, acceptedReference) : undefined,
  }))

type ShowSession = (
  frame: Frame,
  request: PublicRequest,
  person: Person,
  problems: FieldProblems,
) => Promise<PublicAnswer>

/** Accepts or returns a late payment. If another person has decided meanwhile, the page says so. */
export const decideLatePayment =
  (operation: 'acceptLatePayment' | 'returnLatePayment', showOne: ShowSession) =>
  async (frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const sessionId = readId(request)
    const latePaymentId = request.params['late'] ?? ''
    const c = textsWithRefusals(person, 'checkout')
    if (!uuidPattern.test(latePaymentId))
      return showOne(frame, request, person, {
        form: texts[person.view.language].checkout.refusal.late_payment_decided,
      })
    try {
      await frame.operate(operation, { ...callOf(person, request), params: { sessionId, latePaymentId } })
    } catch (error) {
      return showOne(frame, request, person, refusalProblems(c, error, []))
    }
    const done = operation === 'acceptLatePayment' ? 'accepted' : 'returned'
    return seeOther(`../../../${sessionId}?done=${done}`)
  }
