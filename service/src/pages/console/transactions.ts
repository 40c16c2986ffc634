/** Transactions: the list, and the page of a transaction with its timeline, its proof and the request that created it. */
import { type Decimal, decimalText, type ResponseOf, nameCharsMax } from '@partner-payments/wire'
import { type PublicAnswer, type PublicRequest, Refusal } from '../../kernel/api/index.ts'
import type { PartnerHold } from '../../transactions/index.ts'
import { html, type Html } from '../html.ts'
import { toSelectOptions, type FieldValues } from '../kit/forms.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { type ListRows, listPage, type CurrencySum, sumsNote } from '../kit/lists.ts'
import {
  account,
  accountText,
  facts,
  freeText,
  identifier,
  links,
  message,
  money,
  rawJson,
  referenceCell,
  referenceText,
  section,
  serviceReference,
  type Step,
  steps,
  summaryStrip,
  table,
  time,
  transactionBadge,
  wordFor,
} from '../kit/parts.ts'
import { pathWithQuery, page, queryText, readQuery, pageStatus, withTimes } from '../kit/request.ts'
import { fill } from '../language.ts'
import { currencyOptions } from './payees.ts'
import { callOf, type Frame, type Person, readList, type Routes, placeRoutes, sendProof } from './request.ts'
import { texts } from './texts/index.ts'
import { exportTransactions, otherParty, amountQuery } from './transaction-export.ts'

type TransactionRow = {
  readonly reference: string
  readonly userReference?: string | undefined
  readonly href: string
  readonly category: string
  readonly direction: string
  readonly status: string
  readonly party?: string | undefined
  /** The customer. Absent: the partner itself, or an erased customer. */
  readonly customer?: string | undefined
  readonly createdAt: Date
  readonly amount: string
  readonly currency: string
}

/** Filters that are always shown. */
const mainFilters = ['referencePrefix', 'status', 'currency', 'createdFrom', 'createdTo'] as const

const moreFilters = [
  'category',
  'amount',
  'amountMin',
  'amountMax',
  'account',
  'payerName',
  'type',
  'rail',
  'customerId',
  'beneficiaryId',
  'endToEndId',
  'userReference',
  'websiteReference',
  'idempotencyKey',
  'updatedSince',
] as const

/** Sums of a filtered list. */
export type Sums = { readonly sums: readonly CurrencySum[]; readonly capped: boolean }

export const transactionFilters: readonly string[] = [...mainFilters, ...moreFilters]

const reordering = ['amountMin', 'amountMax', 'updatedSince', 'referencePrefix', 'payerName']

type TransactionList = ListRows<TransactionRow> & {
  /** Absent: no filter is set, or the sums of these filters are not computed. */
  readonly sums?: Sums | undefined
}

export function transactionsPage(view: ConsoleView, { rows, sums, ...shown }: TransactionList): string {
  const p = texts[view.language].payments
  const filterOf = (name: keyof ReturnType<typeof filterInputs>) => ({ name, ...filterInputs(view)[name] })
  return listPage(view, shown, {
    title: view.t.transactions,
    path: 'transactions',
    lead: reordering.some((name) => name in shown.values) ? p.orderNote : p.transactionsText,
    filters: mainFilters.map(filterOf),
    more: moreFilters.map(filterOf),
    note: sums !== undefined && sumsNote(view, { ...sums, sums: sums.sums.map((sum) => withDirection(view, sum)) }),
    isLive: rows.some(({ status }) => status === 'Pending'),
    columns: [[p.reference, 'head'], p.kind, p.party, p.customer, p.status, p.created, [p.amount, 'number']],
    cells: rows.map(({ href, category, direction, status, party, customer, createdAt, amount, currency, ...row }) => [
      html`<a href="${href}">${referenceCell(row)}</a>`,
      html`<span>${wordFor(p.category, category)} <span class="soft">${wordFor(p.directions, direction)}</span></span>`,
      freeText(party),
      freeText(customer),
      transactionBadge(view, status),
      time(view, createdAt),
      money(view, amount, currency),
    ]),
    none: { title: p.transactionsEmpty, text: p.transactionsEmptyText },
    after: html`<p class="more">
      <a class="button" href="${pathWithQuery(`${view.root}exports/transactions.csv`, shown.values)}" download
        >${p.exportCsv}</a
      >
    </p>`,
  })
}

const withDirection = ({ language }: ConsoleView, { label = '', ...sum }: CurrencySum): CurrencySum => ({
  ...sum,
  label: wordFor(texts[language].payments.directions, label),
})

function filterInputs({ t, language }: ConsoleView) {
  const p = texts[language].payments
  return {
    status: { label: p.status, options: toSelectOptions(t.transactionStatus) },
    category: { label: p.kind, options: toSelectOptions(p.category) },
    type: { label: p.type, options: toSelectOptions(p.transactionType) },
    rail: { label: p.rail, options: toSelectOptions(p.rails) },
    currency: { label: p.currency, options: currencyOptions },
    createdFrom: { label: p.createdFrom, type: 'date' },
    createdTo: { label: p.createdTo, type: 'date' },
    updatedSince: { label: p.updatedSince, type: 'date' },
    referencePrefix: { label: p.reference, help: p.referencePrefix },
    amount: { label: p.exactAmount, help: p.exactAmountHelp },
    amountMin: { label: p.amountMin, help: p.amountFilterHelp },
    amountMax: { label: p.amountMax, help: p.amountFilterHelp },
    account: { label: p.otherAccount, help: p.otherAccountHelp, charsMax: 64 },
    payerName: { label: p.payerName, help: p.payerNameHelp, charsMax: nameCharsMax },
    websiteReference: { label: p.websiteReference },
    customerId: { label: p.customerId },
    beneficiaryId: { label: p.payeeId },
    endToEndId: { label: p.endToEndId },
    userReference: { label: p.userReference },
    idempotencyKey: { label: p.idempotencyKey },
  } as const
}

type Party = {
  readonly name?: string | undefined
  readonly account?: string | undefined
  readonly bank?: string | undefined
}

type RelatedRow = {
  readonly reference: string
  readonly userReference?: string | undefined
  readonly href: string
  readonly relation: string
  readonly status: string
  readonly createdAt: Date
  readonly amount: string
  readonly currency: string
}

type TransactionDetails = {
  readonly reference: string
  readonly userReference?: string | undefined
  readonly amount: string
  readonly currency: string
  readonly exchanged?: { readonly amount: string; readonly currency: string } | undefined
  readonly status: string
  readonly category: string
  readonly direction: string
  readonly type: string
  readonly rail?: string | undefined
  readonly errorKey?: string | undefined
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly debtor?: Party | undefined
  readonly creditor?: Party | undefined
  /** Absent: the transaction belongs to the partner itself. */
  readonly customer?: { readonly name: string; readonly href?: string | undefined } | undefined
  readonly details: Readonly<
    Record<'endToEndId' | 'idempotencyKey' | 'description' | 'hash' | 'requestedBy', string | undefined>
  >
  /** Absent: the payment is not on hold. */
  readonly hold?: PartnerHold | undefined
  readonly steps: readonly Step[]
  readonly related: readonly RelatedRow[]
  /** Absent: the transaction is not a payout, or the person may not read payouts. */
  readonly payoutHref?: string | undefined
  /** The request that created the transaction. Absent: not in the request log, or the person may not read it. */
  readonly request?: { readonly href: string; readonly text: string; readonly at: Date } | undefined
  /** Absent: the person may not read events. */
  readonly eventsHref?: string | undefined
  /** `read`: absent until the person opens the proof, which costs more than the rest of the page. */
  readonly proof: {
    /** Link to the proof as a file. */
    readonly fileHref: string
    readonly href: string
    readonly read?: { readonly records: number; readonly pending: number } | undefined
  }
  readonly raw: unknown
}

/** Renders the explanation of a hold: the reason, who acts next, by when, and which evidence helps. */
export function holdSection(view: ConsoleView, { kind, actor, by, evidence }: PartnerHold): Html {
  const h = texts[view.language].holds
  const words = h.kinds[kind]
  return html`<section aria-labelledby="hold-title">
    <h2 id="hold-title">${h.title}</h2>
    ${message('warning', words.reason)}
    ${facts([
      [h.actor, h.actors[actor]],
      [h.by, by === null ? h.unknown : time(view, new Date(by))],
      [h.evidence, evidence.length === 0 ? undefined : words.evidence.join(' ')],
    ])}
  </section>`
}

export function transactionPage(view: ConsoleView, transaction: TransactionDetails): string {
  const p = texts[view.language].payments
  const { amount, currency, status, category, direction, createdAt, related } = transaction
  const name = referenceText(transaction)
  const { payoutHref, eventsHref } = transaction
  const kind = `${wordFor(p.category, category)}, ${wordFor(p.directions, direction)}`
  return shell(view, {
    title: `${wordFor(p.category, category)} ${name}`,
    main: html`<div class="heading">
        <h1>${name}</h1>
        <div class="buttons">
          ${eventsHref !== undefined && html`<a class="button" href="${eventsHref}">${view.t.events}</a>`}
          ${payoutHref !== undefined && html`<a class="button" href="${payoutHref}">${p.toPayout}</a>`}
        </div>
      </div>
      ${summaryStrip([
        [p.amount, money(view, amount, currency, 'main')],
        [p.status, transactionBadge(view, status)],
        [p.kind, kind],
        [p.created, time(view, createdAt)],
      ])}
      ${transaction.hold !== undefined && holdSection(view, transaction.hold)} ${details(view, transaction)}
      ${section('timeline', p.timeline, steps(view, transaction.steps))}
      ${related.length > 0 && html`${section('related', p.related, relatedTable(view, related))}`}
      ${proofPart(view, transaction)} ${rawJson(view, transaction.raw)}`,
  })
}

function details(view: ConsoleView, transaction: TransactionDetails): Html {
  const p = texts[view.language].payments
  const { exchanged, type, rail, errorKey, debtor, creditor, updatedAt, details, request } = transaction
  const { requestedBy, endToEndId, idempotencyKey, description, hash } = details
  const { customer } = transaction
  const copied = (text: string | undefined, what: string) => text && identifier(view, text, what)
  return facts([
    [p.failure, errorKey && wordFor(p.errorKey, errorKey)],
    [p.description, description],
    [p.payer, partyPart(view, debtor)],
    [p.payee, partyPart(view, creditor)],
    [p.customer, customer && links([{ text: customer.name, href: customer.href }])],
    [p.exchanged, exchanged && money(view, exchanged.amount, exchanged.currency)],
    [p.type, wordFor(p.transactionType, type)],
    [p.rail, rail && wordFor(p.rails, rail)],
    [p.requestedBy, requestedBy],
    [
      p.request,
      request &&
        html`<span class="lines">
          <a href="${request.href}">${request.text}</a> <span class="soft">${time(view, request.at, 'seconds')}</span>
        </span>`,
    ],
    [p.serviceReference, copied(serviceReference(transaction), p.serviceReference)],
    [p.endToEndId, copied(endToEndId, p.endToEndId)],
    [p.idempotencyKey, copied(idempotencyKey, p.idempotencyKey)],
    [p.hash, copied(hash, p.hash)],
    [p.updated, time(view, updatedAt)],
  ])
}

function partyPart(view: ConsoleView, given: Party | undefined): Html | undefined {
  if (given === undefined || Object.values(given).every((value) => value === undefined)) return undefined
  const { name, account: number, bank } = given
  return html`<span class="lines">
    ${name !== undefined && html`<span>${name}</span>`} ${number !== undefined && account(view, number)}
    ${bank !== undefined && html`<span class="soft">${bank}</span>`}
  </span>`
}

function relatedTable(view: ConsoleView, rows: readonly RelatedRow[]): Html {
  const p = texts[view.language].payments
  return table({
    caption: p.related,
    columns: [[p.reference, 'head'], p.relation, p.status, p.created, [p.amount, 'number']],
    rows: rows.map(({ href, relation, status, createdAt, amount, currency, ...row }) => [
      html`<a href="${href}">${referenceText(row)}</a>`,
      wordFor(p.relations, relation),
      transactionBadge(view, status),
      time(view, createdAt),
      money(view, amount, currency),
    ]),
  })
}

function proofPart(view: ConsoleView, { proof: { fileHref, href, read } }: TransactionDetails): Html {
  const p = texts[view.language].payments
  return html`<section aria-labelledby="proof">
    <h2 id="proof">${p.proof}</h2>
    ${
      read === undefined
        ? html`<p><a class="button" href="${href}">${p.showProof}</a></p>`
        : html`<p>${fill(p.proofText, { count: String(read.records) })}</p>
            ${read.pending > 0 && html`<p>${fill(p.proofPending, { count: String(read.pending) })}</p>`}
            <p><a class="button" href="${fileHref}" download>${texts[view.language].audit.saveProof}</a></p>`
    }
  </section>`
}

type LoggedRequest = ResponseOf<'getRequest'>

/**
 * Search range before and after the creation of a transaction. Its request is logged later, and the clocks of two
 * processes may differ by a second.
 */
const beforeMs = 1000

const afterMs = 60_000

const timeRange = (at: string, earlierMs: number, laterMs: number) => ({
  createdFrom: new Date(Date.parse(at) - earlierMs).toISOString(),
  createdTo: new Date(Date.parse(at) + laterMs).toISOString(),
})

/** Finds the request that created a transaction. Undefined: the person may not read the log, or it has no such request. */
async function creatingRequest(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  { requestId, createdAt }: { readonly requestId?: string | undefined; readonly createdAt: string },
) {
  const { caller, view } = person
  if (requestId === undefined || !caller.permissions.includes('users:read')) return undefined
  const query = queryText({ requestId, ...timeRange(createdAt, beforeMs, afterMs) })
  const { data } = await operate('listRequests', { ...callOf(person, request), query })
  // A client may reuse the id for later requests. The oldest write created the transaction.
  const found = data.findLast(({ method, status, replayed }) => method !== 'GET' && status < 300 && !replayed)
  if (found === undefined) return undefined
  const { id, method, operation, status, serviceAccountName, at } = found
  return {
    href: `${view.root}requests/${id}`,
    text: `${method} ${operation}, ${status}, ${serviceAccountName}`,
    at: new Date(at),
  }
}

const recordsMax = '100'

/**
 * Lists transactions that a request created, found in the audit records of that time. Reads at most the last 100
 * records.
 */
export async function listCreatedTransactions(
  { operate }: Frame,
  request: PublicRequest,
  person: Person,
  { requestId, method, status, replayed, at, durationMs }: LoggedRequest,
): Promise<readonly string[]> {
  if (method === 'GET' || status >= 300 || replayed) return []
  const query = queryText({ ...timeRange(at, durationMs + beforeMs, 1), limit: recordsMax })
  const { data } = await operate('listAuditRecords', { ...callOf(person, request), query })
  return data.flatMap(({ requestId: other, action, subject: { reference } }) =>
    other === requestId && action === 'transaction.steps' && reference !== undefined ? [reference] : [],
  )
}

type Timeline = ResponseOf<'getTransactionTimeline'>

type Transaction = ResponseOf<'getTransaction'>

export const transactionHref = ({ root }: ConsoleView, reference: string): string =>
  `${root}transactions/${encodeURIComponent(reference)}`

/** Describes the steps of a payment, with their actor and the bank's reason. */
export const timelineSteps = (view: ConsoleView, { data, requestedBy }: Timeline): readonly Step[] => {
  const p = texts[view.language].payments
  return data.map(({ step, createdAt, actor, reason, bankText }) => ({
    title: wordFor(p.step, step),
    at: new Date(createdAt),
    by:
      actor &&
      fill(p.timelineBy, { actor: (step === 'Created' ? requestedBy?.name : undefined) ?? wordFor(p.actor, actor) }),
    detail: bankReasonText(view, reason, bankText),
  }))
}

/** Describes a bank's reason: the code with its meaning, and the bank's own text in quotes. */
export const bankReasonText = (
  { language }: Pick<ConsoleView, 'language'>,
  reason: { readonly code: string; readonly text: string } | undefined,
  bankText: string | undefined,
): string | undefined => {
  const known: Readonly<Record<string, string>> = texts[language].payments.bankReason
  const coded = reason === undefined ? [] : [`${reason.code}: ${known[reason.code] ?? reason.text}`]
  const words = bankText === undefined ? [] : [fill(texts[language].payments.bankSays, { text: bankText })]
  return [...coded, ...words].join(' ') || undefined
}

const eventsHrefFor = ({ view, caller }: Person, reference: string): string | undefined =>
  caller.permissions.includes('webhooks:read') ? pathWithQuery(`${view.root}events`, { reference }) : undefined

export const transactionRoutes: Routes = (frame) => {
  const { operate } = frame
  const showList = async (_frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> => {
    const { view } = person
    const call = callOf(person, request)
    const { data, shown, sums } = await readListWithSums(
      request,
      person,
      transactionFilters,
      async (query) => {
        const found = await operate('listTransactions', { ...call, query: queryText(amountQuery(view, query)) })
        // With `updatedSince` the last page also has a cursor, for later changes.
        return { ...found, nextCursor: found.data.length > 0 ? found.nextCursor : null }
      },
      (query) => operate('sumTransactions', { ...call, query: queryText(amountQuery(view, query)) }),
    )
    const rows = data.map((each) => ({
      ...transactionRow(view, each),
      party: otherParty(each)?.accountHolderName,
      customer: each.partnerUser?.name ?? each.partnerUser?.email ?? each.partnerUser?.id,
    }))
    const body = transactionsPage(view, { ...shown, rows, sums })
    return page(request, pageStatus(shown.problems), body)
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
      ...transactionDetails(raw, timeline.requestedBy?.name),
      customer: customerLink(person, raw),
      steps: timelineSteps(view, timeline),
      hold: timeline.hold,
      request: await creatingRequest(frame, request, person, { ...raw, requestId: timeline.requestId }),
      related: related.data.map((each) => ({ ...each, ...transactionRow(view, each) })),
      eventsHref: eventsHrefFor(person, reference),
      payoutHref: payout && `${view.root}payouts/${payout.id}`,
      proof: {
        fileHref: `${transactionHref(view, reference)}/proof`,
        href: `${transactionHref(view, reference)}?proof=1#proof`,
        read: proof && { records: proof.records.length, pending: proof.pending },
      },
      raw,
    }
    return page(request, 200, transactionPage(view, shown))
  }
  const route = placeRoutes(frame, frame.withMoney, 'transactions')
  return [
    route('GET', '', 'transactions:read', showList),
    placeRoutes(frame, frame.withMoney, 'exports')(
      'GET',
      '/transactions.csv',
      'transactions:read',
      (_frame, request, person) => exportTransactions(frame, request, person, transactionFilters),
    ),
    route('GET', '/{id}', 'transactions:read', showOne),
    route('GET', '/{id}/proof', 'transactions:read', (_frame, request, person) =>
      sendProof(frame, request, person, request.params['id'] ?? ''),
    ),
  ]
}

type SumAnswer = {
  readonly data: readonly (Omit<CurrencySum, 'amount' | 'label'> & {
    readonly direction?: string
    readonly amount: Decimal
  })[]
  readonly capped: boolean
}

/** Reads a list and its sums in parallel. A list without filters, or sorted by change, has no sums. */
export async function readListWithSums<T>(
  request: PublicRequest,
  person: Person,
  filters: readonly string[],
  list: Parameters<typeof readList<T>>[3],
  sum: (query: Partial<FieldValues>) => Promise<SumAnswer>,
): Promise<Awaited<ReturnType<typeof readList<T>>> & { readonly sums: Sums | undefined }> {
  const values = readQuery(request, filters)
  const isSummed = Object.keys(values).length > 0 && !('updatedSince' in values)
  // A filter that the sums refuse is refused by the list too, which reports it.
  const summing = isSummed ? sum(withTimes(values)).catch(undefinedIfRefused) : undefined
  const found = await readList(request, person, filters, list)
  const summed = await summing
  return { ...found, sums: summed && found.data.length > 0 ? sumTexts(summed) : undefined }
}

function undefinedIfRefused(error: unknown): undefined {
  if (!(error instanceof Refusal)) throw error
}

const sumTexts = ({ data, capped }: SumAnswer): Sums => ({
  capped,
  sums: data.map(({ direction, amount, ...sum }) => ({
    ...sum,
    amount: decimalText(amount),
    ...(direction !== undefined && { label: direction }),
  })),
})

const transactionRow = <T extends Pick<Transaction, 'reference' | 'amount' | 'createdAt'>>(
  view: ConsoleView,
  row: T,
) => ({
  ...row,
  href: transactionHref(view, row.reference),
  amount: decimalText(row.amount),
  createdAt: new Date(row.createdAt),
})

const partyDetails = (party: Transaction['creditorDetails']) =>
  party && {
    name: party.accountHolderName,
    account: accountText(party) || undefined,
    bank: [party.bankName, party.bic].filter(Boolean).join(', ') || undefined,
  }

const customerLink = ({ view, caller }: Person, { partnerUser }: Transaction) =>
  partnerUser?.id === undefined
    ? undefined
    : {
        name: partnerUser.name ?? partnerUser.email ?? partnerUser.id,
        // An erased customer does not have a page.
        href:
          caller.permissions.includes('customers:read') && Object.keys(partnerUser).length > 1
            ? `${view.root}customers/${partnerUser.id}`
            : undefined,
      }

function transactionDetails(raw: Transaction, requestedBy: string | undefined) {
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
    debtor: partyDetails(raw.debtorDetails),
    creditor: partyDetails(raw.creditorDetails),
    details: {
      endToEndId,
      idempotencyKey,
      description,
      requestedBy,
      hash: transactionHash,
    },
  }
}
