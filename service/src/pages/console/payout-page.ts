/** The page of one payout: sum and payee, what it waits for, what happened, and what a person may do now. */
import type { Explained } from '../../transactions/index.ts'
import { html, type Html } from '../html.ts'
import { asking, message, time } from './components.ts'
import {
  account,
  facts,
  identifier,
  money,
  rawJson,
  referenceText,
  serviceReference,
  type Step,
  steps,
  strip,
} from './lists.ts'
import { type Recalls, recallPart } from './payout-recalls.ts'
import { payoutBadge, wordOf } from './payment-words.ts'
import { type Problems } from './payments-request.ts'
import { paymentTexts } from './texts/payments.ts'
import { holdPart } from './transaction-page.ts'
import { type ConsoleView, shell } from './view.ts'

type Payout = {
  readonly id: string
  readonly reference: string
  readonly userReference?: string | undefined
  readonly amount: string
  readonly currency: string
  readonly fee?: string | undefined
  readonly feeCurrency: string
  readonly sold?: { readonly amount: string; readonly currency: string } | undefined
  readonly status: string
  readonly payee: string
  readonly payeeAccount: string
  readonly payeeHref?: string | undefined
  readonly transactionHref?: string | undefined
  readonly requestedBy?: string | undefined
  readonly rail?: string | undefined
  readonly errorKey?: string | undefined
  readonly endToEndId: string
  readonly idempotencyKey?: string | undefined
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly approval?:
    | {
        readonly until?: Date | undefined
        readonly decision?: string | undefined
        readonly decidedBy?: string | undefined
        readonly decidedAt?: Date | undefined
        readonly reason?: string | undefined
      }
    | undefined
  readonly may: {
    readonly cancel: boolean
    /** `own`: the person made the payout, so that another one approves it. */
    readonly approve: 'yes' | 'own' | 'no'
  }
  /** Outcome of the last form. */
  readonly done?: 'created' | 'cancelled' | 'recallRequested' | undefined
  /** Absent: the payout has not settled. */
  readonly recalls?: Recalls | undefined
  /** Absent: it does not wait. */
  readonly hold?: Explained | undefined
  readonly steps: readonly Step[]
  readonly problems: Problems
  readonly raw: unknown
}

const cancelId = 'cancel-payout'

export function payoutPage(view: ConsoleView, payout: Payout): string {
  const p = paymentTexts[view.language]
  const { amount, currency, payee, status, createdAt, problems, transactionHref } = payout
  return shell(view, {
    title: `${p.payout} ${referenceText(payout)}`,
    problems,
    main: html`${outcome(view, payout)}
      <div class="heading">
        <h1>${payee}</h1>
        <div class="buttons">
          ${payout.may.approve === 'yes' && html`<a class="button primary" href="${view.root}payouts/${payout.id}/approve">${p.review}</a>`}
          ${payout.may.cancel && html`<button type="button" class="danger" popovertarget="${cancelId}" aria-haspopup="dialog">${p.cancelPayout}</button>`}
        </div>
      </div>
      ${strip([
        [p.amount, money(view, amount, currency, 'main')],
        [p.status, payoutBadge(view, status)],
        [p.account, account(view, payout.payeeAccount)],
        [p.created, time(view, createdAt)],
      ])}
      ${payout.may.approve === 'own' && message('warning', p.approvalOwn)}
      ${payout.hold !== undefined && holdPart(view, payout.hold)} ${details(view, payout)}
      ${payout.approval !== undefined && approvalPart(view, payout.approval)}
      ${
        payout.steps.length > 0 &&
        html`<section aria-labelledby="timeline-title">
          <h2 id="timeline-title">${p.timeline}</h2>
          ${steps(view, payout.steps)}
        </section>`
      }
      ${payout.recalls !== undefined && recallPart(view, payout.id, payout.recalls, problems)}
      <p class="buttons">
        ${transactionHref !== undefined && html`<a class="button" href="${transactionHref}">${p.toTransaction}</a>`}
        ${payout.payeeHref !== undefined && html`<a class="button" href="${payout.payeeHref}">${p.toPayee}</a>`}
      </p>
      ${rawJson(view, payout.raw)} ${payout.may.cancel && cancelDialog(view, payout)}`,
  })
}

function outcome({ language }: ConsoleView, { done, status }: Payout): Html | undefined {
  const p = paymentTexts[language]
  if (done === 'cancelled' || done === 'recallRequested') return message('good', p[done])
  if (done !== 'created') return undefined
  if (status === 'Pending') return message('good', p.created_Pending)
  return message('good', status === 'PendingApproval' ? p.created_PendingApproval : p.created_other)
}

function details(view: ConsoleView, payout: Payout): Html {
  const p = paymentTexts[view.language]
  const { fee, feeCurrency, sold, errorKey, idempotencyKey, endToEndId, requestedBy, rail, id } = payout
  const ours = serviceReference(payout)
  return facts([
    [p.failure, errorKey && wordOf(p.errorKey, errorKey)],
    [p.reference, html`<span class="free">${referenceText(payout)}</span>`],
    [p.serviceReference, ours && identifier(view, ours, p.serviceReference)],
    [p.fee, fee === undefined ? undefined : money(view, fee, feeCurrency)],
    [p.exchanged, sold && money(view, sold.amount, sold.currency)],
    [p.requestedBy, requestedBy],
    [p.rail, rail && wordOf(p.rails, rail)],
    [p.endToEndId, identifier(view, endToEndId, p.endToEndId)],
    [p.idempotencyKey, idempotencyKey && identifier(view, idempotencyKey, p.idempotencyKey)],
    [p.id, identifier(view, id, p.id)],
    [p.updated, time(view, payout.updatedAt)],
  ])
}

function approvalPart(view: ConsoleView, approval: NonNullable<Payout['approval']>): Html {
  const p = paymentTexts[view.language]
  const { until, decision, decidedBy, decidedAt, reason } = approval
  return html`<section aria-labelledby="approval-title">
    <h2 id="approval-title">${p.approval}</h2>
    ${facts([
      [p.approval, decision && wordOf(p.approvalDecision, decision)],
      [p.decidedBy, decidedBy],
      [p.decidedAt, decidedAt && time(view, decidedAt)],
      [p.rejectReason, reason],
      [p.approvalUntil, decision === undefined && until !== undefined ? time(view, until) : undefined],
    ])}
  </section>`
}

function cancelDialog(view: ConsoleView, { id, payee, amount, currency }: Payout): Html {
  const p = paymentTexts[view.language]
  return asking({
    ...{ id: cancelId, title: p.cancelTitle, action: `${view.root}payouts/${id}/cancel` },
    about: html`<p>${money(view, amount, currency, 'main')}</p>
      <p>${payee}</p>`,
    effects: [p.cancelEffect, p.cancelMoney, p.cancelFinal],
    ...{ submit: p.cancelPayout, cancel: p.keep },
  })
}
