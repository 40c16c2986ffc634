/** The search over payments, payouts, payees, customers, sessions and requests. */
import { uuidPattern } from '../../kernel/index.ts'
import { decimalText, type ResponseOf } from '@partner-payments/wire'
import { Refusal } from '../../kernel/api/index.ts'
import { html } from '../html.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import {
  accountText,
  emptyState,
  formatAccount,
  type Link,
  links,
  money,
  referenceText,
  table,
  time,
} from '../kit/parts.ts'
import { pathWithQuery, page, queryText, readTypedAmounts, seeOther } from '../kit/request.ts'
import { fill } from '../language.ts'
import { callOf, type Person, type Routes } from './request.ts'
import { texts } from './texts/index.ts'
import { otherParty } from './transaction-export.ts'

export type SearchResult = {
  readonly kind: 'transaction' | 'payout' | 'payee' | 'customer' | 'session' | 'request'
  /** Path below the root of the pages. */
  readonly href: string
  readonly name: string
  /** Text that distinguishes results with the same name: a person, an account, an identifier. */
  readonly about?: string | undefined
  readonly amount?: string
  readonly currency?: string
  /** Creation time of a payment, to distinguish payments to one payee. */
  readonly createdAt?: Date
}

type SearchPage = {
  readonly text: string
  readonly found: readonly SearchResult[]
  /** Links to the lists with all results of a kind. */
  readonly lists: readonly Link[]
}

export function findPage(view: ConsoleView, { text, found, lists }: SearchPage): string {
  const t = texts[view.language].find
  return shell(view, {
    title: t.title,
    wide: true,
    main: html`<h1>${t.title}</h1>
      ${
        found.length === 0
          ? emptyState({ title: text === '' ? t.nothingTyped : fill(t.nothing, { text }), text: t.what })
          : table({
              caption: t.title,
              columns: [[t.found, 'head'], t.kind, texts[view.language].payments.created, [t.amount, 'number']],
              rows: found.map(({ href, name, about, kind, amount, currency, createdAt }) => [
                html`<a class="free" href="${view.root}${href}">${name}</a>
                  ${about !== undefined && html`<span class="soft free">${about}</span>`}`,
                t.kinds[kind],
                createdAt === undefined ? '' : time(view, createdAt),
                amount === undefined || currency === undefined ? '' : money(view, amount, currency),
              ]),
            })
      }
      ${lists.length > 0 && html`<div class="more">${links(lists)}</div>`}`,
  })
}

const queryCharsMax = 140

const listedMax = '10'

/** An IBAN, with or without blanks. */
const ibanPattern = /^[a-z]{2}\s?\d\s?\d[a-z\d\s]{11,38}$/i

/** The number of an account without an IBAN, or the address of a wallet. */
const accountPattern = /^(?:[\d-]{6,17}|0x[0-9a-f]{40})$/i

const serviceIdPattern = /^cus_[0-9a-z]{16}$/

/** A creditor reference (ISO 11649), with or without blanks. */
const creditorReferencePattern = /^rf\s?\d\s?\d/i

/** Maximum payees with an alias whose payments the search also lists. */
const ownersMax = 3

export const findRoutes: Routes = ({ operate, withMoney }) => {
  type Request = Parameters<typeof callOf>[1]
  const search = async (request: Request, person: Person, text: string): Promise<readonly SearchResult[]> => {
    const call = callOf(person, request)
    const payments = (query: Readonly<Record<string, string>>) =>
      operate('listTransactions', { ...call, query: queryText({ limit: listedMax, ...query }) }).then(({ data }) =>
        data.map((each): SearchResult => ({
          kind: 'transaction',
          href: `transactions/${encodeURIComponent(each.reference)}`,
          name: referenceText(each),
          about: otherParty(each)?.accountHolderName,
          amount: decimalText(each.amount),
          currency: each.currency,
          createdAt: new Date(each.createdAt),
        })),
      )
    const customers = (query: Readonly<Record<string, string>>) =>
      operate('listCustomers', { ...call, query: queryText({ limit: listedMax, ...query }) }).then(({ data }) =>
        data.map(customerResult),
      )
    const listPayees = async (query: Readonly<Record<string, string>>) =>
      (await operate('listBeneficiaries', { ...call, query: queryText({ limit: listedMax, ...query }) })).data
    const payees = async (query: Readonly<Record<string, string>>) => (await listPayees(query)).map(payeeResult)
    const sessions = () =>
      operate('listCheckoutSessions', { ...call, query: queryText({ creditorReference: text, limit: '1' }) }).then(
        ({ data }) =>
          data.map(({ sessionId, creditorReference: name, amount, currency }): SearchResult => ({
            kind: 'session',
            href: `checkout/${sessionId}`,
            name,
            amount: decimalText(amount),
            currency,
          })),
      )
    /** Finds the customer who owns an IBAN of this service, and that customer's payments. */
    const searchByOwner = async (): Promise<readonly SearchResult[]> => {
      const { data } = await operate('listCustomers', { ...call, query: queryText({ iban: text, limit: '1' }) })
      const paid = await Promise.all(data.map(({ guid }) => payments({ customerId: guid }).catch(ignoreRefusal)))
      return [...data.map(customerResult), ...paid.flat()]
    }
    /** Finds payees by alias, and the payments to the first ones. */
    const searchByAlias = async (): Promise<readonly SearchResult[]> => {
      const named = await listPayees({ alias: text })
      const paid = await Promise.all(
        named.slice(0, ownersMax).map(({ id }) => payments({ beneficiaryId: id }).catch(ignoreRefusal)),
      )
      return [...named.map(payeeResult), ...paid.flat()]
    }
    const typed = readTypedAmounts(text)
    const one = async (work: Promise<SearchResult>): Promise<readonly SearchResult[]> => [await work]
    const params = { id: text.toLowerCase() }
    const found = await Promise.all(
      [
        payments({ referencePrefix: text }),
        payments({ endToEndId: text }),
        payments({ userReference: text }),
        payments({ idempotencyKey: text }),
        payments({ websiteReference: text }),
        ...typed.amounts.map((amount) =>
          payments({ amount, ...(typed.currency !== undefined && { currency: typed.currency }) }),
        ),
        searchByAlias(),
        ...(ibanPattern.test(text)
          ? [payees({ iban: text }), payments({ account: text }), searchByOwner()]
          : [payments({ payerName: text }), customers({ namePrefix: text }), payees({ namePrefix: text })]),
        ...(accountPattern.test(text) ? [payments({ account: text.replaceAll('-', '') })] : []),
        ...(serviceIdPattern.test(text) ? [customers({ serviceId: text })] : []),
        ...(creditorReferencePattern.test(text) ? [sessions()] : []),
        ...(text.includes('@') ? [customers({ email: text })] : []),
        customers({ partnerCustomerIdentifier: text }),
        operate('listRequests', { ...call, query: queryText({ limit: listedMax, requestId: text }) }).then(({ data }) =>
          data.map(requestResult),
        ),
        ...(uuidPattern.test(params.id)
          ? [
              one(
                operate('getPayout', { ...call, params }).then(
                  ({ id, beneficiaryName: name, amount, currency, createdAt }) => ({
                    kind: 'payout',
                    href: `payouts/${id}`,
                    name,
                    amount: decimalText(amount),
                    currency,
                    createdAt: new Date(createdAt),
                  }),
                ),
              ),
              one(operate('getCustomer', { ...call, params }).then(customerResult)),
              payments({ beneficiaryId: params.id }),
              one(operate('getRequest', { ...call, params: { entryId: params.id } }).then(requestResult)),
            ]
          : []),
      ].map((work) => work.catch(ignoreRefusal)),
    )
    return [...new Map(found.flat().map((each) => [each.href, each])).values()]
  }
  return [
    {
      method: 'GET',
      path: '/console/find',
      handle: (request) =>
        withMoney(request, async (person) => {
          const text = (new URLSearchParams(request.query).get('q') ?? '').trim().slice(0, queryCharsMax)
          const found = text === '' ? [] : await search(request, person, text)
          const [only, ...more] = found
          if (only !== undefined && more.length === 0) return seeOther(only.href)
          const lists = found.some(({ kind }) => kind === 'transaction') ? listLinks(person, text) : []
          return page(request, 200, findPage({ ...person.view, found: text }, { text, found, lists }))
        }),
    },
  ]
}

/** Links to the lists of all payments with an amount or an account. */
function listLinks({ view }: Person, text: string): readonly Link[] {
  const t = texts[view.language].find
  const { amounts, currency } = readTypedAmounts(text)
  const list = (query: Readonly<Record<string, string | undefined>>) => pathWithQuery(`${view.root}transactions`, query)
  return [
    ...amounts.map((amount) => ({
      text: fill(t.allOfAmount, { amount: [amount, currency].filter(Boolean).join(' ') }),
      href: list({ amount: amount.replace(/(\.\d\d)0+$/, '$1'), currency }),
    })),
    ...(ibanPattern.test(text)
      ? [{ text: fill(t.allOfAccount, { account: formatAccount(text.toUpperCase()) }), href: list({ account: text }) }]
      : []),
  ]
}

const payeeResult = ({ id, name, alias, ...payee }: ResponseOf<'getBeneficiary'>): SearchResult => ({
  kind: 'payee',
  href: `payees/${id}`,
  name,
  about: [alias, formatAccount(accountText(payee))].filter(Boolean).join(', '),
})

const customerResult = ({
  guid,
  email,
  kyc,
  partnerCustomerIdentifier: about,
}: ResponseOf<'getCustomer'>): SearchResult => ({
  kind: 'customer',
  about,
  href: `customers/${guid}`,
  name: kyc?.legalName ?? kyc?.fullName ?? kyc?.tradingName ?? email ?? guid,
})

const requestResult = ({ id, method, operation, status }: ResponseOf<'getRequest'>): SearchResult => ({
  kind: 'request',
  href: `requests/${id}`,
  name: `${method} ${operation}, ${status}`,
})

/**
 * Turns a refused search into an empty result. The operation does not accept the text, or the person lacks the
 * permission.
 */
function ignoreRefusal(error: unknown): readonly SearchResult[] {
  if (!(error instanceof Refusal)) throw error
  return []
}
