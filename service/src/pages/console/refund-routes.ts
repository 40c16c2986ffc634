/** The refunds of a checkout session in the console: what its page shows of them, the check of a new one, and its sending. */
import { decimalText, rawNumber, type ResponseOf } from '@partner-payments/wire'
import { type PublicAnswer, type PublicRequest, readBalance, readCurrency } from '../../kernel/api/index.ts'
import { amountText, type Currency, newId } from '../../kernel/index.ts'
import { accountText } from './lists.ts'
import {
  callOf,
  ifFound,
  linkOf,
  type Problems,
  problemsOf,
  queryText,
  readAmount,
  readQuery,
  type Values,
} from './payments-request.ts'
import { refundFields, refundPreviewPage, type Refunds } from './refund-page.ts'
import { type Frame, idOf, page, type Person, readForm, seeOther } from './request.ts'
import { paymentTexts } from './texts/payments.ts'
import { refundTexts } from './texts/refunds.ts'

type Session = ResponseOf<'getCheckoutSession'>

/** A form that was refused, or is changed: its problems, and what was typed. */
export type Typed = { readonly problems: Problems; readonly values: Values; readonly idempotencyKey: string }

/** Amounts as the page shows them. Null: zero. */
export function amountsOf({ amount, paidAmount, partialPayments, refundedAmount, currency: code }: Session) {
  const currency = readCurrency(code)
  const refunded = readBalance(refundedAmount, currency, '/refundedAmount')
  const left = readBalance(partialPayments ? paidAmount : amount, currency, '/amount') - refunded
  const text = (minor: bigint) => (minor <= 0n ? null : amountText(minor, currency))
  return { refunded: text(refunded), left: text(left), leftMinor: left, currency }
}

/** The refunds of a session that was paid. Undefined: there is nothing to refund yet. */
export async function refundsOf(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  session: Session,
  typed?: Typed,
): Promise<Refunds | undefined> {
  if (session.status !== 'Completed') return undefined
  const { view, caller } = person
  const { sessionId } = session
  const { cursor } = readQuery(request, ['cursor'])
  const call = { ...callOf(person, request), params: { sessionId }, query: queryText({ cursor }) }
  const { data, nextCursor } = await operate('listCheckoutRefunds', call)
  const readsPayouts = caller.permissions.includes('payouts:read')
  const { left, currency } = amountsOf(session)
  return {
    ...{ left, currency },
    parts: severalOf(session),
    rows: data.map(({ refundId, amount, status, reason, errorKey, createdAt, currency: code, ...row }) => ({
      ...{ reference: row.reference, userReference: row.userReference, status, reason, errorKey, currency: code },
      amount: decimalText(amount),
      createdAt: new Date(createdAt),
      payoutHref: readsPayouts ? `${view.root}payouts/${refundId}` : undefined,
    })),
    pages: {
      next: nextCursor === null ? undefined : linkOf(`${view.root}checkout/${sessionId}`, { cursor: nextCursor }),
      first: cursor && `${view.root}checkout/${sessionId}`,
    },
    form: caller.permissions.includes('payouts:write')
      ? { idempotencyKey: typed?.idempotencyKey ?? newId(), values: typed?.values ?? {} }
      : undefined,
  }
}

/** The parts that can go back, if a refund has to name one. */
function severalOf({ parts = [] }: Session) {
  const credited = parts.filter(({ status }) => status === 'Credited')
  if (credited.length < 2) return []
  return credited.map(({ partId: id, amount, debtorName: payer = '' }) => ({ id, amount: decimalText(amount), payer }))
}

type Again = (typed: Typed) => Promise<PublicAnswer>

const typedOf = (request: PublicRequest) => {
  const given = readForm(request)
  const values: Values = Object.fromEntries(
    refundFields.flatMap((name) => (given(name).trim() === '' ? [] : [[name, given(name).trim()] as const])),
  )
  return { values, idempotencyKey: given('idempotencyKey') || newId(), isChange: given('change') !== '' }
}

/** Words of the refusals: those of all pages, and those of refunds. */
const wordsOf = ({ view: { language } }: Person) => {
  const p = paymentTexts[language]
  return { ...p, refusal: { ...p.refusal, ...refundTexts[language].refusal } }
}

const problemsOfRefund = (person: Person, error: unknown): Problems => {
  const p = wordsOf(person)
  return problemsOf(p, error, refundFields, { amount: p.payoutAmountWrong })
}

/** Shows what the refund does. Nothing is sent. `again` shows the form with what was typed. */
export async function checkRefund(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  again: Again,
): Promise<PublicAnswer> {
  const { view, caller } = person
  const { values, idempotencyKey, isChange } = typedOf(request)
  const refuse = (problems: Problems) => again({ problems, values, idempotencyKey })
  if (isChange) return refuse({})
  const sessionId = idOf(request)
  const call = callOf(person, request)
  const session = await operate('getCheckoutSession', { ...call, params: { sessionId } })
  const { leftMinor, currency } = amountsOf(session)
  const asked = minorOf(values['amount'], currency)
  if (asked === undefined) return refuse({ amount: paymentTexts[view.language].payoutAmountWrong })
  if (asked > leftMinor) return refuse({ amount: refundTexts[view.language].refusal.refund_exceeds_payment })
  const { creditorReference, reference } = session
  const transaction = caller.permissions.includes('transactions:read')
    ? await ifFound(operate('getTransaction', { ...call, params: { reference } }))
    : undefined
  const debtor = transaction?.debtorDetails
  const part = severalOf(session).find(({ id }) => id === values['partId'])
  const partPayer = part && { name: part.payer, account: '' }
  const shown = {
    ...{ sessionId, creditorReference, currency, idempotencyKey },
    values: { ...values, amount: amountText(asked, currency) },
    leftAfter: amountText(leftMinor - asked, currency),
    payer: partPayer ?? (debtor && { name: debtor.accountHolderName ?? '', account: accountText(debtor) }),
  }
  return page(request, 200, refundPreviewPage({ ...view, current: 'checkout' }, shown))
}

/** Undefined: the form of the amount is wrong, or it is zero. */
function minorOf(text: string | undefined, currency: Currency): bigint | undefined {
  const amount = readAmount(text ?? '')
  const minor = amount === undefined ? 0n : readBalance(rawNumber(amount), currency, '/amount')
  return minor > 0n ? minor : undefined
}

export async function sendRefund(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  again: Again,
): Promise<PublicAnswer> {
  const { values, idempotencyKey } = typedOf(request)
  const { amount: text = '', ...rest } = values
  const amount = readAmount(text)
  const refuse = (problems: Problems) => again({ problems, values, idempotencyKey })
  if (amount === undefined) return refuse({ amount: wordsOf(person).payoutAmountWrong })
  const sessionId = idOf(request)
  const body = { ...rest, amount: rawNumber(amount), idempotencyKey }
  try {
    await operate('createCheckoutRefund', { ...callOf(person, request), params: { sessionId }, body })
  } catch (error) {
    return refuse(problemsOfRefund(person, error))
  }
  return seeOther(`../../${sessionId}?done=refunded`)
}
