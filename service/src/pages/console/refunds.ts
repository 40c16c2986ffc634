/** The refunds of a checkout session: the form, its preview, and the payout that sends the money back. */
import { decimalText, rawNumber, type ResponseOf, referenceCharsMax } from '@partner-payments/wire'
import { ifFound, type PublicAnswer, type PublicRequest, parseBalance, parseCurrency } from '../../kernel/api/index.ts'
import { amountText, type Currency, newId } from '../../kernel/index.ts'
import { html, type Html } from '../html.ts'
import {
  amountCharsMax,
  hiddenField,
  hiddenFields,
  type Input,
  inputs,
  type FieldProblems,
  type FieldValues,
} from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { pager, type PageLinks } from '../kit/lists.ts'
import {
  account,
  accountText,
  facts,
  freeText,
  money,
  moneyText,
  payoutBadge,
  referenceText,
  table,
  time,
  wordFor,
} from '../kit/parts.ts'
import {
  readId,
  page,
  pageLinks,
  queryText,
  readAmount,
  readForm,
  readQuery,
  seeOther,
  readValues,
} from '../kit/request.ts'
import { fill } from '../language.ts'
import { amountProblem, callOf, type Frame, may, type Person, refusalProblems, textsWithRefusals } from './request.ts'
import { texts } from './texts/index.ts'

type RefundRow = {
  readonly reference: string
  readonly userReference?: string | undefined
  readonly amount: string
  readonly currency: string
  readonly status: string
  readonly reason?: string | undefined
  readonly errorKey?: string | undefined
  readonly createdAt: Date
  /** True if the refund returns accepted late money. */
  readonly isLate: boolean
  /** Absent: the person may not read payouts. */
  readonly payoutHref?: string | undefined
}

export const refundFields = ['amount', 'reference', 'reason', 'payment'] as const

/** A refundable payment. `name`: its option in the form, empty for the only payment of the session. */
export type RefundablePayment = {
  readonly name: string
  /** The amount that can still be refunded. */
  readonly left: string
  readonly payer: string
}

export type Refunds = {
  readonly rows: readonly RefundRow[]
  readonly pages: PageLinks
  readonly currency: string
  /** Empty: everything was refunded. */
  readonly payments: readonly RefundablePayment[]
  /** Absent: the person may not refund. */
  readonly form?: { readonly idempotencyKey: string; readonly values: FieldValues } | undefined
}

export function refundSection(view: ConsoleView, sessionId: string, refunds: Refunds, problems: FieldProblems): Html {
  const r = texts[view.language].refunds
  const { rows, pages, form, currency, payments } = refunds
  return html`<section aria-labelledby="refunds-title">
    <h2 id="refunds-title">${r.refunds}</h2>
    ${rows.length === 0 ? html`<p>${r.none}</p>` : refundTable(view, rows)} ${pager(view, pages)}
    ${payments.length === 0 && html`<p class="soft">${r.nothingLeft}</p>`}
    ${
      form !== undefined &&
      payments.length > 0 &&
      html`<details
        class="more"
        ${(Object.keys(form.values).length > 0 || Object.keys(problems).length > 0) && html` open`}
      >
        <summary>${r.refund}</summary>
        ${refundForm(view, { sessionId, currency, payments, ...form }, problems)}
      </details>`
    }
  </section>`
}

type RefundForm = NonNullable<Refunds['form']> & Pick<Refunds, 'payments' | 'currency'> & { readonly sessionId: string }

/** Renders the form, prefilled with the whole remaining amount. */
function refundForm(view: ConsoleView, form: RefundForm, problems: FieldProblems): Html {
  const { language, root } = view
  const r = texts[language].refunds
  const { sessionId, currency, values, idempotencyKey, payments } = form
  const isSeveral = payments.length > 1
  const chosen = payments.find(({ name }) => name === values['payment']) ?? payments[0]
  const left = moneyText(view, chosen?.left ?? '0', currency)
  const payment: Input = {
    name: 'payment',
    label: r.part,
    options: payments.map(({ name, left, payer }) => [
      name,
      fill(r.partOf, { amount: moneyText(view, left, currency), payer }),
    ]),
  }
  const own = { charsMax: referenceCharsMax, optional: true }
  return html`<form method="post" action="${root}checkout/${sessionId}/refund">
    ${hiddenField('idempotencyKey', idempotencyKey)}
    ${inputs(view, { values: { ...values, payment: chosen?.name ?? '' }, problems }, [
      isSeveral ? payment : hiddenField('payment', chosen?.name ?? ''),
      {
        name: 'amount',
        label: fill(r.amount, { currency }),
        help: isSeveral ? r.amountSeveral : fill(r.amountHelp, { left }),
        value: chosen?.left,
        keys: 'decimal',
        charsMax: amountCharsMax,
      },
      { name: 'reference', label: r.reference, help: r.referenceHelp, ...own },
      { name: 'reason', label: r.reason, help: r.reasonHelp, ...own },
    ])}
    <button type="submit" class="primary">${r.preview}</button>
  </form>`
}

function refundTable(view: ConsoleView, rows: readonly RefundRow[]): Html {
  const r = texts[view.language].refunds
  const p = texts[view.language].payments
  return table({
    caption: r.refunds,
    columns: [[p.reference, 'head'], p.status, p.created, r.reason, [p.amount, 'number']],
    rows: rows.map(({ amount, currency, status, reason, errorKey, createdAt, payoutHref, isLate, ...row }) => [
      payoutHref === undefined
        ? html`<span class="free">${referenceText(row)}</span>`
        : html`<a class="free" href="${payoutHref}">${referenceText(row)}</a>`,
      html`<span class="lines">
        ${payoutBadge(view, status)} ${isLate && html`<span>${r.ofLate}</span>`}
        ${errorKey !== undefined && html`<span>${wordFor(p.errorKey, errorKey)}</span>`}
      </span>`,
      time(view, createdAt),
      freeText(reason),
      money(view, amount, currency),
    ]),
  })
}

type RefundPreview = {
  readonly sessionId: string
  readonly creditorReference: string
  readonly currency: string
  readonly values: FieldValues
  readonly idempotencyKey: string
  readonly leftAfter: string
  /** Absent: the person may not see the payer. */
  readonly payer?: { readonly name: string; readonly account: string } | undefined
}

export function refundPreviewPage(view: ConsoleView, preview: RefundPreview): string {
  const r = texts[view.language].refunds
  const { sessionId, currency, payer, leftAfter, values, idempotencyKey } = preview
  const { amount = '', reference, reason } = values
  return shell(view, {
    title: r.previewTitle,
    main: html`<h1>${r.previewTitle}</h1>
      <p class="lead">${r.previewText}</p>
      <section class="card" aria-labelledby="sum">
        <h2 id="sum" class="away">${r.refund}</h2>
        <p class="sum">${money(view, amount, currency)}</p>
        <p class="to">${payer?.name || r.payerUnread}</p>
        ${payer !== undefined && payer.account !== '' && html`<p>${account(view, payer.account)}</p>`}
        ${facts([
          [texts[view.language].checkout.creditorReference, preview.creditorReference],
          [r.reference, reference],
          [r.reason, reason],
          [r.leftAfter, money(view, leftAfter, currency)],
        ])}
        <ul class="effects">
          <li>${r.effectMoney}</li>
          <li>${r.effectRules}</li>
          <li>${r.effectFinal}</li>
        </ul>
        <form method="post" action="${view.root}checkout/${sessionId}/refund/send" class="buttons">
          ${hiddenFields({ ...values, idempotencyKey })}
          <button type="submit" class="primary">${fill(r.send, { amount: moneyText(view, amount, currency) })}</button>
          <button type="submit" name="change" value="yes" formaction="${view.root}checkout/${sessionId}/refund">
            ${r.change}
          </button>
        </form>
      </section>`,
  })
}

type Session = ResponseOf<'getCheckoutSession'>

/** A form that was refused or is changed again: its problems and its values. */
export type TypedRefund = {
  readonly problems: FieldProblems
  readonly values: FieldValues
  readonly idempotencyKey: string
}

/** Formats the sum of the refunds of a session. Null: nothing was refunded. */
export function refundedText({ refundedAmount, currency: code }: Session): string | null {
  const currency = parseCurrency(code)
  const refunded = parseBalance(refundedAmount, currency, '/refundedAmount')
  return refunded <= 0n ? null : amountText(refunded, currency)
}

type Payment = Pick<RefundablePayment, 'name' | 'payer'> & {
  readonly left: bigint
  /** Reference of the transaction with the payer's account. Absent for a part. */
  readonly reference?: string | undefined
}

/** Lists the refundable payments of a session: its payment or its parts, and accepted late money. */
function refundablePayments(session: Session): readonly Payment[] {
  const { status, amount, refundedAmount, paidAmount, partialPayments, parts = [], latePayments = [] } = session
  const currency = parseCurrency(session.currency)
  const minor = (money: Session['amount']) => parseBalance(money, currency, '/amount')
  const credited = parts.filter((part) => part.status === 'Credited')
  const left = minor(partialPayments ? paidAmount : amount) - minor(refundedAmount)
  const whole = { name: '', payer: session.payerName ?? '', left, reference: session.reference }
  const ofParts = credited.map(({ partId, amount: paid, debtorName: payer = '' }) => {
    const most = minor(paid)
    return { name: `part-${partId}`, payer, left: most < left ? most : left }
  })
  const late = latePayments.map(({ latePaymentId, amount: paid, debtorName: payer = '', ...row }) => ({
    name: `late-${latePaymentId}`,
    payer,
    reference: row.acceptedReference,
    left: row.refundedAmount === undefined ? 0n : minor(paid) - minor(row.refundedAmount),
  }))
  const own = status !== 'Completed' ? [] : credited.length > 1 ? ofParts : [whole]
  return [...own, ...late].filter((payment) => payment.left > 0n)
}

/** Reads the refunds of a session. Undefined: the session has no money to refund yet. */
export async function readRefunds(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  session: Session,
  typed?: TypedRefund,
): Promise<Refunds | undefined> {
  const isAccepted = (session.latePayments ?? []).some(({ status }) => status === 'Accepted')
  if (session.status !== 'Completed' && !isAccepted) return undefined
  const { view } = person
  const { sessionId } = session
  const { cursor } = readQuery(request, ['cursor'])
  const call = { ...callOf(person, request), params: { sessionId }, query: queryText({ cursor }) }
  const { data, nextCursor } = await operate('listCheckoutRefunds', call)
  const readsPayouts = may(person, 'payouts:read')
  const currency = parseCurrency(session.currency)
  return {
    currency,
    payments: refundablePayments(session).map(({ name, payer, left }) => ({
      name,
      payer,
      left: amountText(left, currency),
    })),
    rows: data.map(({ refundId, amount, status, reason, errorKey, createdAt, currency: code, ...row }) => ({
      reference: row.reference,
      userReference: row.userReference,
      status,
      reason,
      errorKey,
      currency: code,
      amount: decimalText(amount),
      isLate: row.latePaymentId !== undefined,
      createdAt: new Date(createdAt),
      payoutHref: readsPayouts ? `${view.root}payouts/${refundId}` : undefined,
    })),
    pages: pageLinks(`${view.root}checkout/${sessionId}`, {}, cursor, nextCursor),
    form: may(person, 'payouts:write')
      ? { idempotencyKey: typed?.idempotencyKey ?? newId(), values: typed?.values ?? {} }
      : undefined,
  }
}

type ShowFormAgain = (typed: TypedRefund) => Promise<PublicAnswer>

const readRefundForm = (request: PublicRequest) => {
  const given = readForm(request)
  const values = readValues(given, refundFields)
  return { values, idempotencyKey: given('idempotencyKey') || newId(), isChange: given('change') !== '' }
}

const refundProblems = (person: Person, error: unknown): FieldProblems => {
  const p = textsWithRefusals(person, 'refunds')
  return refusalProblems(p, error, refundFields, { amount: p.payoutAmountWrong })
}

/** Shows the preview of a refund without sending it. `again`: shows the form again as it was typed. */
export async function checkRefund(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  again: ShowFormAgain,
): Promise<PublicAnswer> {
  const { view } = person
  const { values, idempotencyKey, isChange } = readRefundForm(request)
  const refuse = (problems: FieldProblems) => again({ problems, values, idempotencyKey })
  if (isChange) return refuse({})
  const sessionId = readId(request)
  const call = callOf(person, request)
  const session = await operate('getCheckoutSession', { ...call, params: { sessionId } })
  const currency = parseCurrency(session.currency)
  const asked = readMinor(values['amount'], currency)
  if (asked === undefined) return refuse({ amount: amountProblem(view, values['amount'] ?? '') })
  const payment = refundablePayments(session).find(({ name }) => name === (values['payment'] ?? ''))
  if (payment === undefined || asked > payment.left)
    return refuse({ amount: texts[view.language].refunds.refusal.refund_exceeds_payment })
  const { reference } = payment
  const transaction =
    reference !== undefined && may(person, 'transactions:read')
      ? await ifFound(operate('getTransaction', { ...call, params: { reference } }))
      : undefined
  const debtor = transaction?.debtorDetails
  const named = debtor && { name: debtor.accountHolderName ?? '', account: accountText(debtor) }
  const shown = {
    sessionId,
    creditorReference: session.creditorReference,
    currency,
    idempotencyKey,
    values: { ...values, amount: amountText(asked, currency) },
    leftAfter: amountText(payment.left - asked, currency),
    payer: reference === undefined ? { name: payment.payer, account: '' } : named,
  }
  return page(request, 200, refundPreviewPage(view, shown))
}

/** Parses an amount. Undefined: the text is not a positive amount. */
function readMinor(text: string | undefined, currency: Currency): bigint | undefined {
  const amount = readAmount(text ?? '')
  const minor = amount === undefined ? 0n : parseBalance(rawNumber(amount), currency, '/amount')
  return minor > 0n ? minor : undefined
}

export async function sendRefund(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  again: ShowFormAgain,
): Promise<PublicAnswer> {
  const { values, idempotencyKey } = readRefundForm(request)
  const { amount: text = '', payment = '', ...rest } = values
  const amount = readAmount(text)
  const refuse = (problems: FieldProblems) => again({ problems, values, idempotencyKey })
  if (amount === undefined) return refuse({ amount: amountProblem(person.view, text) })
  const sessionId = readId(request)
  const [, kind, id] = /^(part|late)-(.*)$/.exec(payment) ?? []
  const named = id === undefined ? {} : kind === 'part' ? { partId: id } : { latePaymentId: id }
  const body = { ...rest, ...named, amount: rawNumber(amount), idempotencyKey }
  try {
    await operate('createCheckoutRefund', { ...callOf(person, request), params: { sessionId }, body })
  } catch (error) {
    return refuse(refundProblems(person, error))
  }
  return seeOther(`../../${sessionId}?done=refunded`)
}
