/** The page of a customer, and the list of a partner's customers. The operator's audit log records who opened which customer. */
import { nameCharsMax } from '@partner-payments/wire'
import { countryName } from '../kit/countries.ts'
import { type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { partnerKey } from '../../kernel/index.ts'
import { type Customer, type Customers, customerName, type CustomerReview } from '../../parties/customers/index.ts'
import { instructionIdOf } from '../../payouts/index.ts'
import { field } from '../kit/forms.ts'
import {
  account,
  badge,
  calendarDay,
  facts,
  freeText,
  heading,
  identifier,
  linkButton,
  message,
  section,
  summaryStrip,
  table,
  time,
  wordFor,
} from '../kit/parts.ts'
import { list } from '../kit/lists.ts'
import { pathWithQuery, page } from '../kit/request.ts'
import { texts as consoleTexts } from '../console/texts/index.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { actionButtons, type ActionName, actionMessage } from './acts.ts'
import {
  alertsTable,
  boundedPart,
  casesTable,
  pageContents,
  customerHref,
  customersTable,
  hitsTable,
  levelTones,
  minorMoney,
  notesSection,
  type PagePart,
  partnerReference,
  payeesTable,
  paymentsTable,
  type ListedAlert,
  verificationBadge,
  yesNo,
} from './parties.ts'
import { limitsTable, type PrintedLimit } from './printed.ts'
import { type DeskFrame, readKey, type Person, staffRoute } from './request.ts'
import { deskTexts } from './texts.ts'

/** Maximum rows in each section of the page. A link opens the whole list. */
const rowsShown = 10
/** Number of newest payments whose cases the page shows. */
const paymentsLookedAt = 50

type ResultOf<T> = T extends (...given: never[]) => Promise<infer R> ? R : never

type CustomerDetails = {
  readonly partnerId: string
  readonly partnerName: string | undefined
  readonly customer: Customer
  readonly accountState: keyof (typeof deskTexts)['en']['accountStates']
  readonly capabilities: ResultOf<Customers['capabilities']>
  readonly proofs: ResultOf<DeskFrame['identityChecks']['list']>['data']
  readonly ibans: ResultOf<DeskFrame['accounts']['ibansOf']>
  readonly sums: ResultOf<DeskFrame['ledger']['partySumsAt']>
  readonly payments: Parameters<typeof paymentsTable>[1]
  readonly payees: Parameters<typeof payeesTable>[2]
  readonly hits: Parameters<typeof hitsTable>[1]
  readonly alerts: readonly ListedAlert[]
  readonly cases: Parameters<typeof casesTable>[1]
  readonly review: CustomerReview | undefined
  readonly isOverdue: boolean
  readonly blocks: ResultOf<DeskFrame['accounts']['stateChanges']>['data']
  readonly limits: readonly PrintedLimit[]
  readonly notes: Parameters<typeof notesSection>[1]['notes']
  /** True for compliance and admins, who see identity data. Other roles see the name and the email address. */
  readonly mayIdentify: boolean
  readonly acts: Html | undefined
  readonly said: Html | undefined
}

export function customerPage(view: ConsoleView, shown: CustomerDetails): string {
  const texts = deskTexts[view.language]
  const d = texts.parties
  const { customer, partnerId, capabilities, review } = shown
  const title = customerName(customer)
  const parts = customerParts(view, shown)
  return shell(view, {
    title,
    wide: true,
    main: html`${shown.said}
      <h1>${title}</h1>
      <p class="lead">${d.opensRecorded}</p>
      ${summaryStrip([
        [d.partner, partnerReference(view, partnerId, shown.partnerName)],
        [d.verification, verificationBadge(view, capabilities.verificationState)],
        [d.state, stateBadge(view, shown.accountState)],
        [texts.customerPage.risk, riskBadge(view, review)],
      ])}
      ${shown.acts}
      ${pageContents(
        view,
        parts.map(({ id, title: name }) => [id, name]),
      )}
      ${identityPart(view, shown)} ${parts.map((part) => part.body)}`,
  })
}

const riskBadge = (view: ConsoleView, review: CustomerReview | undefined): Html | string =>
  review === undefined ? '–' : badge(levelTones[review.risk], deskTexts[view.language].reviews[review.risk])

const stateBadge = ({ language }: ConsoleView, state: CustomerDetails['accountState']): Html =>
  badge(state === 'Active' ? 'good' : 'bad', deskTexts[language].accountStates[state])

function identityPart(view: ConsoleView, { customer, mayIdentify }: CustomerDetails): Html {
  const texts = deskTexts[view.language]
  const [d, c] = [texts.parties, texts.customerPage]
  const { kyc } = customer
  const country = (code: string | undefined) => (code === undefined ? undefined : countryName(view, code))
  const owners = ([1, 2, 3, 4, 5] as const)
    .map((number) => `${kyc[`uboFirstName${number}`] ?? ''} ${kyc[`uboLastName${number}`] ?? ''}`.trim())
    .filter((owner) => owner !== '')
  const address = [kyc.residenceAddress, kyc.addressLine1, kyc.addressLine2, kyc.postalCode, kyc.city].filter(Boolean)
  const personal: Parameters<typeof facts>[0] = mayIdentify
    ? [
        [c.born, kyc.dateOfBirth === undefined ? undefined : calendarDay(view, kyc.dateOfBirth)],
        [c.citizenship, country(kyc.citizenshipCountryCode)],
        [c.residence, address.length === 0 ? undefined : freeText(address.join(', '))],
        [c.incorporated, country(kyc.countryOfIncorporation)],
        [c.registration, kyc.registrationNumber === undefined ? undefined : freeText(kyc.registrationNumber)],
        [c.owners, owners.length === 0 ? undefined : freeText(owners.join(', '))],
      ]
    : []
  return html`<h2>${c.identity}</h2>
    ${facts([
      [d.name, freeText(customerName(customer))],
      [d.type, texts.customerTypes[customer.customerType]],
      [d.email, customer.email === null ? undefined : freeText(customer.email)],
      [d.country, country(kyc.addressCountryCode)],
      ...personal,
      [d.identifier, freeText(customer.partnerCustomerIdentifier ?? undefined) || undefined],
      [d.serviceId, identifier(view, customer.serviceId, d.serviceId)],
      [d.id, identifier(view, customer.id, d.id)],
      [d.created, time(view, customer.createdAt)],
    ])}
    ${!mayIdentify && html`<p class="soft">${c.forCompliance}</p>`}`
}

function customerParts(view: ConsoleView, shown: CustomerDetails): readonly PagePart[] {
  const texts = deskTexts[view.language]
  const [d, c] = [texts.parties, texts.customerPage]
  const { partnerId, customer, payments, payees, cases, hits, alerts, limits } = shown
  const part = (given: Parameters<typeof boundedPart>[1]) => boundedPart(view, given)
  return [
    capabilitiesPart(view, shown),
    part({
      id: 'balances',
      title: c.balances,
      rows: shown.sums.length,
      none: c.balancesNone,
      body: sumsTable(view, shown),
    }),
    part({
      ...{ id: 'accounts', title: c.accounts, rows: shown.ibans.length, none: c.accountsNone },
      body: facts(shown.ibans.map(({ iban, country }) => [countryName(view, country), account(view, iban)])),
    }),
    part({
      ...{ id: 'payments', title: d.payments, rows: payments.length, body: paymentsTable(view, payments) },
      all: pathWithQuery(`partners/${partnerId}/payments`, { customer: customer.id }),
    }),
    part({
      ...{ id: 'payees', title: d.payees, rows: payees.length, body: payeesTable(view, partnerId, payees) },
      all: pathWithQuery(`partners/${partnerId}/payees`, { customer: customer.id }),
    }),
    part({ id: 'hits', title: d.hits, rows: hits.length, body: hitsTable(view, hits, d.hits) }),
    part({ id: 'alerts', title: d.alerts, rows: alerts.length, body: alertsTable(view, alerts) }),
    part({
      ...{ id: 'cases', title: d.cases, rows: cases.length, body: casesTable(view, cases, d.cases) },
      text: fill(c.casesText, { count: String(paymentsLookedAt) }),
    }),
    reviewPart(view, shown),
    blocksPart(view, shown),
    proofsPart(view, shown),
    ...(limits.length === 0
      ? []
      : [part({ id: 'limits', title: c.limits, rows: limits.length, body: limitsTable(view, limits, c.limits) })]),
    {
      ...{ id: 'notes', title: d.notes },
      body: notesSection(view, {
        about: { partnerId, kind: 'customer', subjectId: customer.id },
        notes: shown.notes,
      }),
    },
  ]
}

function capabilitiesPart(view: ConsoleView, { capabilities }: CustomerDetails): PagePart {
  const texts = deskTexts[view.language]
  const [c, k] = [texts.customerPage, consoleTexts[view.language].customers]
  const { fields, holdUpTo } = capabilities
  const body = html`${facts(
    capabilities.capabilities.map(({ name, reasons }) => [
      texts.capabilities[name],
      reasons.length === 0
        ? badge('good', c.allowed)
        : badge('bad', fill(c.refused, { reasons: reasons.map((each) => texts.capabilityReasons[each]).join(', ') })),
    ]),
  )}
  ${
    holdUpTo.length > 0 &&
    facts(
      holdUpTo.map(({ currency, max, held }) => [
        `${c.balances} ${currency}`,
        html`${minorMoney(view, held, currency)} / ${minorMoney(view, max, currency)}`,
      ]),
    )
  }
  ${
    fields.length > 0 &&
    html`<h3>${c.missing}</h3>
      <ul class="effects">
        ${fields.map(
          ({ field: name, code }) =>
            html`<li>
              <strong>${wordFor(k.kyc, name)}</strong>: ${code === undefined ? '' : wordFor(k.cures, code)}
            </li>`,
        )}
      </ul>`
  }`
  return { id: 'capabilities', title: c.capabilities, body: section('capabilities', c.capabilities, body) }
}

function sumsTable(view: ConsoleView, { sums }: CustomerDetails): Html {
  const texts = deskTexts[view.language]
  const [d, c] = [texts.parties, texts.customerPage]
  return table({
    caption: c.balances,
    columns: [
      [d.currency, 'head'],
      [c.posted, 'number'],
      [c.reserved, 'number'],
      [c.available, 'number'],
    ],
    rows: sums.map(({ currency, posted, reserved }) => [
      currency,
      minorMoney(view, posted, currency),
      minorMoney(view, reserved, currency),
      minorMoney(view, posted - reserved, currency),
    ]),
  })
}

function reviewPart(view: ConsoleView, { review, isOverdue }: CustomerDetails): PagePart {
  const c = deskTexts[view.language].customerPage
  const body =
    review === undefined
      ? message('warning', c.neverReviewed)
      : facts([
          [c.risk, riskBadge(view, review)],
          [c.reviewed, time(view, review.reviewedAt, 'date')],
          [c.reviewedBy, freeText(review.reviewedBy)],
          [c.nextReview, html`${calendarDay(view, review.dueOn)} ${isOverdue && badge('bad', c.overdue)}`],
        ])
  return { id: 'review', title: c.review, body: section('review', c.review, body) }
}

function blocksPart(view: ConsoleView, { blocks }: CustomerDetails): PagePart {
  const texts = deskTexts[view.language]
  const [d, c] = [texts.parties, texts.customerPage]
  const body = table({
    caption: c.blocks,
    columns: [[d.when, 'head'], d.state, c.reason, d.who, d.note],
    rows: blocks.map(({ changedAt, toState, reason, staff, note }) => [
      time(view, changedAt),
      texts.accountStates[toState],
      texts.stateReasons[reason],
      freeText(staff),
      freeText(note),
    ]),
  })
  return boundedPart(view, { id: 'blocks', title: c.blocks, rows: blocks.length, none: c.blocksNone, body })
}

function proofsPart(view: ConsoleView, { proofs }: CustomerDetails): PagePart {
  const texts = deskTexts[view.language]
  const [d, c, i] = [texts.parties, texts.customerPage, consoleTexts[view.language].identity]
  const body = table({
    caption: c.proofs,
    columns: [[c.documents, 'head'], d.status, d.opened, c.validUntil, c.inForce],
    rows: proofs.map(({ kinds, status, createdAt, validUntil, inForce }) => [
      kinds.map((kind) => i.kinds[kind]).join(', '),
      i.statuses[status],
      time(view, createdAt),
      validUntil === null ? '–' : time(view, validUntil, 'date'),
      yesNo(view, inForce),
    ]),
  })
  return boundedPart(view, { id: 'proofs', title: c.proofs, rows: proofs.length, none: c.proofsNone, body })
}

type CustomerList = {
  readonly partnerId: string
  readonly partnerName: string
  readonly q: string
  readonly customers: Parameters<typeof customersTable>[2]
  readonly next?: string | undefined
  readonly first?: string | undefined
}

export function customersPage(view: ConsoleView, shown: CustomerList): string {
  const d = deskTexts[view.language].parties
  const { partnerId, partnerName, q, customers, next, first } = shown
  const title = `${d.customers}: ${partnerName}`
  const path = `${view.root}partners/${partnerId}`
  return shell(view, {
    title,
    wide: true,
    main: html`${heading(title, linkButton(path, d.partner))}
    ${searchForm(view, { path: `${path}/customers`, q, label: d.searchCustomers })}
    ${list(view, {
      table: customersTable(view, partnerId, customers),
      ...{ isEmpty: customers.length === 0, isFiltered: q !== '', none: { title: d.none, text: d.newest } },
      pages: { next, first },
    })}`,
  })
}

/**
 * Renders the search form of a partner's list. It uses POST, because the text may be a person's name, which must not
 * appear in a URL.
 */
export const searchForm = (
  view: ConsoleView,
  { path, q, label }: { readonly path: string; readonly q: string; readonly label: string },
): Html => {
  const d = deskTexts[view.language].parties
  return html`<form method="post" action="${path}" class="filters">
    ${field({ id: 'q', name: 'q', label, value: q, optional: true, more: html`maxlength="${nameCharsMax}" autocomplete="off"` })}
    <div class="buttons">
      <button type="submit">${d.search}</button>
      ${q !== '' && html`<a class="button plain" href="${path}">${d.showAll}</a>`}
    </div>
  </form>`
}

/** Finds customers by email address, service id, the partner's identifier, or the beginning of a name. */
export async function searchCustomers(
  customers: Pick<Customers, 'list'>,
  partnerId: string,
  typed: string,
  limit: number,
): Promise<readonly Customer[]> {
  const query = { limit: String(limit) }
  if (typed.includes('@')) return (await customers.list(partnerId, { ...query, email: typed })).data
  const byIdentifier = await customers.list(partnerId, { ...query, partnerCustomerIdentifier: typed })
  if (byIdentifier.data.length > 0) return byIdentifier.data
  if (/^cus_\w+$/.test(typed)) return (await customers.list(partnerId, { ...query, serviceId: typed })).data
  try {
    return (await customers.list(partnerId, { ...query, namePrefix: typed })).data
  } catch (error) {
    // The index refuses names with too few letters.
    if (error instanceof Refusal && error.code === 'validation_failed') return []
    throw error
  }
}

/** Adds the stored verification of each customer, which lists of customers omit. */
export async function withVerification(
  { db, customers }: Pick<DeskFrame, 'db' | 'customers'>,
  partnerId: string,
  rows: readonly Customer[],
): Promise<Parameters<typeof customersTable>[2]> {
  const payers = await customers.payersByIds(
    db,
    rows.map(({ id }) => ({ partnerId, id })),
  )
  return rows.map((row) => ({
    ...row,
    verification: payers.get(partnerKey(partnerId, row.id))?.verificationState ?? null,
  }))
}

const customerActs: readonly ActionName[] = [
  'review set',
  'account block',
  'account unblock',
  'account close',
  'limit set',
]

export const customerRoutes = (frame: DeskFrame): readonly PublicRoute[] => [
  staffRoute(frame, 'partners', 'GET', '/customers/{partnerId}/{id}', (request, person) =>
    showCustomer(frame, request, person),
  ),
]

async function showCustomer(frame: DeskFrame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view, signed } = person
  const { partnerId, id } = readKey(request)
  const customer = await frame.customers.get(partnerId, id)
  await frame.staff.recordOpened(signed, 'customer', [`${partnerId}/${id}`])
  const { role } = signed.account
  const names = await frame.access.namesOf(frame.db, [partnerId])
  const href = customerHref(partnerId, id)
  const given = { partner: partnerId, customer: id, scope: 'customer' }
  const body = customerPage(view, {
    ...{ partnerId, customer, partnerName: names.get(partnerId) },
    ...(await readCustomer(frame, partnerId, id)),
    mayIdentify: role === 'compliance' || role === 'admin',
    acts: actionButtons(view, { ...frame, person }, { acts: customerActs, given, back: href }),
    said: noteMessage(view, request) ?? actionMessage(view, request),
  })
  return page(request, 200, body)
}

/** Renders the message that a note was added. Undefined if none was. */
export const noteMessage = (view: ConsoleView, request: PublicRequest): Html | undefined =>
  new URLSearchParams(request.query).has('noted')
    ? message('good', deskTexts[view.language].parties.noteDone)
    : undefined

async function readCustomer(frame: DeskFrame, partnerId: string, id: string) {
  const { db, accounts, changes, clock, customers, identityChecks, ledger, screening, staff } = frame
  const payers = await customers.payersByIds(db, [{ partnerId, id }])
  const payments = await frame.transactions.list(partnerId, { customerId: id, limit: String(paymentsLookedAt) })
  const payees = await frame.beneficiaries.list(partnerId, { customerId: id, limit: String(rowsShown) })
  const alerts = await readAlerts(frame, partnerId, id)
  const review = await customers.reviews.of(db, partnerId, id)
  const limits = (await changes.read('limit list', { partner: partnerId })) as readonly PrintedLimit[]
  const subjectIds = [id, ...payees.data.map((payee) => payee.id)]
  return {
    accountState: payers.get(partnerKey(partnerId, id))?.accountState ?? 'Active',
    capabilities: await customers.capabilities(partnerId, id),
    proofs: (await identityChecks.list(partnerId, id, { limit: String(rowsShown) })).data,
    ibans: await accounts.ibansOf(db, partnerId, id),
    sums: await ledger.partySumsAt(db, partnerId, id, undefined),
    payments: await frame.transactions.withUsers(payments.data.slice(0, rowsShown)),
    payees: payees.data,
    hits: await screening.about(db, partnerId, subjectIds, rowsShown),
    alerts,
    cases: await readCases(frame, partnerId, { customerId: id, payments: payments.data, alerts }),
    review,
    isOverdue: review !== undefined && review.dueOn <= clock.now().toISOString().slice(0, 10),
    blocks: (await accounts.stateChanges(partnerId, { customerId: id, limit: String(rowsShown) })).data,
    limits: limits.filter(({ scopeId }) => scopeId === id),
    notes: await staff.notes.of(db, { partnerId, kind: 'customer', subjectId: id }, undefined, rowsShown),
  }
}

/** Reads the alerts about a customer, or the newest of a partner, with the names of their rules and their resolutions. */
export async function readAlerts(
  { db, cases, monitoring }: Pick<DeskFrame, 'db' | 'cases' | 'monitoring'>,
  partnerId: string,
  subjectId?: string,
): Promise<readonly ListedAlert[]> {
  const rows = await monitoring.newestAlerts(db, partnerId, subjectId === undefined ? {} : { subjectId }, rowsShown)
  if (rows.length === 0) return []
  const rules = new Map((await monitoring.rules(db)).map(({ id, name }) => [id, name]))
  const decided = new Map(
    (
      await cases.byIds(
        db,
        partnerId,
        rows.map(({ id }) => id),
      )
    ).map(({ id, resolution }) => [id, resolution]),
  )
  return rows.map(({ id, ruleId, openedAt }) => ({
    ...{ partnerId, id, ruleId, openedAt },
    ruleName: rules.get(ruleId) ?? ruleId,
    resolution: decided.get(id) ?? null,
  }))
}

type CustomerActivity = {
  readonly customerId: string
  readonly payments: ResultOf<DeskFrame['transactions']['list']>['data']
  readonly alerts: readonly ListedAlert[]
}

/**
 * Reads cases about a customer's payments, frozen balance and alerts. A case may refer to a payment by any of its ids.
 */
async function readCases(
  { db, cases, deposits, payouts }: DeskFrame,
  partnerId: string,
  { customerId, payments, alerts }: CustomerActivity,
) {
  const rows = payments.map(({ row }) => row)
  const ofCategory = (category: string) => rows.filter((row) => row.category === category)
  const incoming = await deposits.byReferences(
    db,
    partnerId,
    ofCategory('Deposit').map(({ reference }) => reference),
  )
  const outgoing = await payouts.list(partnerId, { customerId, limit: String(paymentsLookedAt) })
  const subjects = [
    customerId,
    ...rows.map(({ reference }) => reference),
    ...incoming.map(({ id }) => id),
    ...outgoing.data.flatMap((payout) => [payout.id, payout.endToEndId, instructionIdOf(payout)]),
  ]
  const found = [
    ...(await cases.about(db, partnerId, [...new Set(subjects)])),
    ...(await cases.byIds(
      db,
      partnerId,
      alerts.map(({ id }) => id),
    )),
  ]
  return [...new Map(found.map((row) => [row.id, row])).values()]
    .toSorted((a, b) => b.openedAt.getTime() - a.openedAt.getTime())
    .slice(0, 2 * rowsShown)
}
