/** Making a payout: each page calls the operation that reads, previews or creates. The key of the form makes a repeated send one payout. */
import { decimalText, rawNumber } from '@partner-payments/wire'
import type { PublicAnswer, PublicRequest } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import { choosePayeePage, newPayoutPage, type PayoutDraft, payoutPreviewPage } from './new-payout-page.ts'
import { payeeRowOf } from './payee-routes.ts'
import {
  callOf,
  pagesOf,
  permitted,
  type Problems,
  problemsOf,
  queryText,
  readAmount,
  readQuery,
  statusOf,
} from './payments-request.ts'
import { type Frame, page, type Person, readForm, type Routes, seeOther } from './request.ts'
import { orderTexts } from './texts/orders.ts'
import { paymentTexts } from './texts/payments.ts'

type Typed = Pick<PayoutDraft, 'beneficiaryId' | 'amount' | 'reference' | 'idempotencyKey'>

const fields = ['amount', 'reference'] as const

type Place = 'payouts' | 'standing-orders'

/** Lists payees, to begin the form of a place with one. */
export async function choose(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  place: Place,
): Promise<PublicAnswer> {
  const { language } = person.view
  const { cursor } = readQuery(request, ['cursor'])
  const { data, nextCursor } = await operate('listBeneficiaries', {
    ...callOf(person, request),
    query: queryText({ cursor }),
  })
  const pages = pagesOf('new', {}, cursor, nextCursor)
  const title = place === 'payouts' ? paymentTexts[language].newPayout : orderTexts[language].newOrder
  const shown = { rows: data.map(payeeRowOf), pages, title, path: `${place}/new` }
  return page(request, 200, choosePayeePage({ ...person.view, current: place }, shown))
}

async function draftOf({ operate }: Frame, request: PublicRequest, person: Person, typed: Typed, problems: Problems) {
  const payee = payeeRowOf(
    await operate('getBeneficiary', { ...callOf(person, request), params: { id: typed.beneficiaryId } }),
  )
  return { ...typed, payee: payee.name, payeeAccount: payee.account, currency: payee.currency, problems }
}
export const newPayoutRoutes: Routes = (frame, _withPerson, withMoney) => {
  const { operate } = frame
  const form = async (request: PublicRequest, person: Person, typed: Typed, problems: Problems = {}) => {
    const status = statusOf(problems)
    const draft = await draftOf(frame, request, person, typed, problems)
    return page(request, status, newPayoutPage({ ...person.view, current: 'payouts' }, draft))
  }
  const begin = (request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const { beneficiaryId, amount = '', reference = '' } = readQuery(request, ['beneficiaryId', 'amount', 'reference'])
    if (beneficiaryId === undefined) return choose(frame, request, person, 'payouts')
    return form(request, person, { beneficiaryId, amount, reference, idempotencyKey: newId() })
  }
  /** Reads the form, and calls with the body of a payout. A refusal shows the form again, with everything that was typed. */
  const withBody = async (
    request: PublicRequest,
    person: Person,
    act: (body: object, draft: PayoutDraft) => Promise<PublicAnswer>,
  ): Promise<PublicAnswer> => {
    const p = paymentTexts[person.view.language]
    const given = readForm(request)
    const typed = {
      beneficiaryId: given('beneficiaryId'),
      amount: given('amount'),
      reference: given('reference').trim(),
      idempotencyKey: given('idempotencyKey') || newId(),
    }
    const amount = readAmount(typed.amount)
    if (amount === undefined) return form(request, person, typed, { amount: p.payoutAmountWrong })
    const draft = await draftOf(frame, request, person, { ...typed, amount }, {})
    const { beneficiaryId, currency, reference, idempotencyKey } = draft
    const body = { amount: rawNumber(amount), beneficiaryId, currency, idempotencyKey, ...(reference && { reference }) }
    try {
      return await act(body, draft)
    } catch (error) {
      return form(request, person, typed, problemsOf(p, error, fields, { amount: p.payoutAmountWrong }))
    }
  }
  const preview = (request: PublicRequest, person: Person): Promise<PublicAnswer> =>
    withBody(request, person, async (body, draft) => {
      const found = await operate('previewFiatPayout', { ...callOf(person, request), body })
      const { accepted, status, rail, cutOffAt, valueDate, arrivesOn, rules } = found
      const day = (text: string | undefined) => (text === undefined ? undefined : new Date(text))
      const shown = {
        ...draft,
        amount: decimalText(found.amount),
        ...{ accepted, rail, rules },
        fee: decimalText(found.fee),
        total: decimalText(found.total),
        needsApproval: status === 'PendingApproval',
        cutOffAt: day(cutOffAt),
        valueDate: day(valueDate),
        arrivesOn: day(arrivesOn),
      }
      return page(request, 200, payoutPreviewPage({ ...person.view, current: 'payouts' }, shown))
    })
  const send = (request: PublicRequest, person: Person): Promise<PublicAnswer> =>
    withBody(request, person, async (body, { idempotencyKey, beneficiaryId }) => {
      const call = callOf(person, request)
      await operate('createFiatPayout', { ...call, body })
      // The answer of the documented operation has no id.
      const { data } = await operate('listPayouts', { ...call, query: queryText({ idempotencyKey, beneficiaryId }) })
      const [payout] = data
      return seeOther(payout === undefined ? '../../payouts' : `../${payout.id}?done=created`)
    })
  return [
    { method: 'GET', path: '/console/payouts/new', handle: permitted(withMoney, 'payouts:write', begin) },
    { method: 'POST', path: '/console/payouts/new/preview', handle: permitted(withMoney, 'payouts:write', preview) },
    { method: 'POST', path: '/console/payouts/new/send', handle: permitted(withMoney, 'payouts:write', send) },
  ]
}
