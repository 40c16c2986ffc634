/** The list of transactions and the page of one, made of the operations that read them. */
import { creatingRequest } from './creating-request.ts'
import { accountText } from './lists.ts'
import { decimalText, type ResponseOf } from '@partner-payments/wire'
import type { PublicAnswer, PublicRequest } from '../../kernel/api/index.ts'
import { fill } from '../language.ts'
import type { Step } from './lists.ts'
import { wordOf } from './payment-words.ts'
import {
  callOf,
  linkOf,
  problemsOf,
  queryText,
  readList,
  readQuery,
  routesOf,
  statusOf,
  timesOf,
} from './payments-request.ts'
import { type Frame, headersOf, page, type Person, type Routes } from './request.ts'
import { consoleMessage } from './message-page.ts'
import { exportPageRows, exportRowsMax, transactionsCsv } from './transaction-export.ts'
import { paymentTexts } from './texts/payments.ts'
import { transactionPage } from './transaction-page.ts'
import { transactionFilters, transactionsPage } from './transactions-page.ts'
import type { ConsoleView } from './view.ts'

type Timeline = ResponseOf<'getTransactionTimeline'>
type Transaction = ResponseOf<'getTransaction'>

export const transactionHref = ({ root }: ConsoleView, reference: string): string =>
  `${root}transactions/${encodeURIComponent(reference)}`

/** Steps of a payment with their actor and the reason of the bank, in words. */
export const stepsOf = (view: ConsoleView, { data }: Timeline): readonly Step[] => {
  const p = paymentTexts[view.language]
  return data.map(({ step, createdAt, actor, reason, bankText }) => ({
    title: wordOf(p.step, step),
    at: new Date(createdAt),
    by: actor && fill(p.timelineBy, { actor: wordOf(p.actor, actor) }),
    detail: bankSaid(view, reason, bankText),
  }))
}

/** A bank's code with its meaning, and its own words, which are marked as such. */
export const bankSaid = (
  { language }: Pick<ConsoleView, 'language'>,
  reason: { readonly code: string; readonly text: string } | undefined,
  bankText: string | undefined,
): string | undefined => {
  const coded = reason === undefined ? [] : [`${reason.code}: ${reason.text}`]
  const words = bankText === undefined ? [] : [fill(paymentTexts[language].bankSays, { text: bankText })]
  return [...coded, ...words].join(' ') || undefined
}

const eventsHrefOf = ({ view, caller }: Person, reference: string): string | undefined =>
  caller.permissions.includes('webhooks:read') ? linkOf(`${view.root}events`, { reference }) : undefined

/** The file of a list, or a page that says why there is none. */
async function exportList({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const values = readQuery(request, transactionFilters)
  const call = callOf(person, request)
  const read = (cursor: string | undefined) =>
    operate('listTransactions', {
      ...call,
      query: `${queryText({ ...timesOf(values), cursor })}&limit=${exportPageRows}`,
    })
  const p = paymentTexts[person.view.language]
  const refuse = (text: string) => {
    const back = { href: linkOf(`${person.view.root}transactions`, values), label: p.back }
    return page(request, 400, consoleMessage(person.view, p.exportTitle, text, back))
  }
  try {
    const body = await transactionsCsv(read)
    if (body === undefined) return refuse(fill(p.exportTooMany, { count: String(exportRowsMax) }))
    const headers = { ...headersOf, 'content-type': 'text/csv; charset=utf-8' }
    return {
      status: 200,
      headers: { ...headers, 'content-disposition': 'attachment; filename="transactions.csv"' },
      body,
    }
  } catch (error) {
    return refuse(Object.values(problemsOf(p, error, transactionFilters)).join(' '))
  }
}

export const transactionRoutes: Routes = (frame, _withPerson, withMoney) => {
  const { operate } = frame
  const showList = async (_frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const { view } = person
    const { data, shown } = await readList(request, person, transactionFilters, async (query) => {
      const found = await operate('listTransactions', { ...callOf(person, request), query: queryText(query) })
      // With `updatedSince` the last page has a cursor too, for changes to come.
      return { ...found, nextCursor: found.data.length > 0 ? found.nextCursor : null }
    })
    const rows = data.map((each) => ({
      ...rowOf(view, each),
      party: partyOf(each)?.accountHolderName,
      customer: each.partnerUser?.name ?? each.partnerUser?.email ?? each.partnerUser?.id,
    }))
    const body = transactionsPage({ ...view, current: 'transactions' }, { ...shown, rows })
    return page(request, statusOf(shown.problems), body)
  }
  const showOne = async (_frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const { view, caller } = person
    const reference = request.params['id'] ?? ''
    const call = { ...callOf(person, request), params: { reference } }
    const raw = await operate('getTransaction', call)
    const mayPayouts = raw.category === 'Withdrawal' && caller.permissions.includes('payouts:read')
    const [timeline, related, payouts, proof] = await Promise.all([
      operate('getTransactionTimeline', call),
      operate('listRelatedTransactions', call),
      mayPayouts
        ? operate('listPayouts', { ...callOf(person, request), query: queryText({ reference, limit: '1' }) })
        : undefined,
      readQuery(request, ['proof'])['proof'] === undefined ? undefined : operate('getTransactionProof', call),
    ])
    const payout = payouts?.data[0]
    const shown = {
      ...detailsOf(raw, timeline.requestedBy?.name),
      customer: customerOf(person, raw),
      steps: stepsOf(view, timeline),
      hold: timeline.hold,
      request: await creatingRequest(frame, request, person, { ...raw, requestId: timeline.requestId }),
      related: related.data.map((each) => ({ ...each, ...rowOf(view, each) })),
      eventsHref: eventsHrefOf(person, reference),
      payoutHref: payout && `${view.root}payouts/${payout.id}`,
      proof: {
        path: `/v1/transactions/${encodeURIComponent(reference)}/proof`,
        href: `${transactionHref(view, reference)}?proof=1#proof`,
        read: proof && { records: proof.records.length, pending: proof.pending },
      },
      raw,
    }
    return page(request, 200, transactionPage({ ...view, current: 'transactions' }, shown))
  }
  const route = routesOf(frame, withMoney, 'transactions')
  return [
    route('GET', '', 'transactions:read', showList),
    routesOf(frame, withMoney, 'exports')('GET', '/transactions.csv', 'transactions:read', exportList),
    route('GET', '/{id}', 'transactions:read', showOne),
  ]
}

const rowOf = <T extends Pick<Transaction, 'reference' | 'amount' | 'createdAt'>>(view: ConsoleView, row: T) => ({
  ...row,
  href: transactionHref(view, row.reference),
  amount: decimalText(row.amount),
  createdAt: new Date(row.createdAt),
})

const partyOf = ({ direction, creditorDetails, debtorDetails }: Transaction) =>
  direction === 'Inward' ? debtorDetails : creditorDetails

const shownParty = (party: Transaction['creditorDetails']) =>
  party && {
    name: party.accountHolderName,
    account: accountText(party) || undefined,
    bank: [party.bankName, party.bic].filter(Boolean).join(', ') || undefined,
  }

const customerOf = ({ view, caller }: Person, { partnerUser }: Transaction) =>
  partnerUser?.id === undefined
    ? undefined
    : {
        name: partnerUser.name ?? partnerUser.email ?? partnerUser.id,
        // An erased customer has no page.
        href:
          caller.permissions.includes('customers:read') && Object.keys(partnerUser).length > 1
            ? `${view.root}customers/${partnerUser.id}`
            : undefined,
      }

function detailsOf(raw: Transaction, requestedBy: string | undefined) {
  const { endToEndId, idempotencyKey, description, transactionHash } = raw
  const { userAmount, userCurrency } = raw
  return {
    ...raw,
    amount: decimalText(raw.amount),
    createdAt: new Date(raw.createdAt),
    updatedAt: new Date(raw.updatedAt),
    exchanged:
      raw.hasFx && userAmount !== undefined && userCurrency !== undefined
        ? { amount: decimalText(userAmount), currency: userCurrency }
        : undefined,
    debtor: shownParty(raw.debtorDetails),
    creditor: shownParty(raw.creditorDetails),
    texts: {
      ...{ endToEndId, idempotencyKey, description, requestedBy },
      hash: transactionHash,
    },
  }
}
