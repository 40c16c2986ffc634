/**
 * The list of partners, and the page of a partner: money, blocks, customers, payees, payments, pending items, rules,
 * team and credentials.
 */
import { uuidPattern } from '../../kernel/index.ts'
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute } from '../../kernel/api/index.ts'
import { field } from '../kit/forms.ts'
import {
  badge,
  freeText,
  heading,
  identifier,
  linkButton,
  section,
  summaryStrip,
  table,
  time,
  wordFor,
} from '../kit/parts.ts'
import { pager } from '../kit/lists.ts'
import { pathWithQuery, page, readForm, seeOther } from '../kit/request.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { actionButtons, actionHref, type ActionName, actionTitle, actionResultHref, actionMessage } from './acts.ts'
import { listChanges, changesTable, type DeskChange } from './commands.ts'
import { readAlerts, searchCustomers, customersPage, noteMessage, searchForm, withVerification } from './customers.ts'
import { commandRoute, type RefusedForm } from './forms.ts'
import {
  alertsTable,
  boundedPart,
  casesTable,
  pageContents,
  customersTable,
  hitsTable,
  notesSection,
  type PagePart,
  payeesTable,
  paymentsTable,
  tableOrEmpty,
} from './parties.ts'
import { searchPayees, payeesPage } from './payees.ts'
import { showPayments } from './payments.ts'
import {
  partnerCommands,
  type PartnerRules,
  type Section,
  sectionPart,
  sections,
  type SectionRows,
} from './partner-rules.ts'
import { readCursor, type DeskFrame, type PartnerRow, type Person, staffRoute } from './request.ts'
import { deskTexts } from './texts.ts'

type PartnerList = {
  readonly partners: readonly PartnerRow[]
  readonly mayAdd: boolean
  readonly next?: string | undefined
}

export function partnersPage(view: ConsoleView, { partners, mayAdd, next }: PartnerList): string {
  const texts = deskTexts[view.language]
  const p = texts.partners
  const add =
    mayAdd &&
    linkButton(
      `${view.root}${actionHref('partner create', {}, 'partners')}`,
      actionTitle(view, 'partner create'),
      'primary',
    )
  return shell(view, {
    title: p.partners,
    wide: true,
    main: html`${heading(p.partners, add)}
      <p class="lead">${p.partnersText}</p>
      <form method="get" action="${view.root}partners/find" class="filters">
        ${field({ id: 'id', name: 'id', label: p.partnerId, more: html`maxlength="36"` })}
        <button type="submit">${p.openById}</button>
      </form>
      ${tableOrEmpty({
        none: { title: p.noPartners, text: mayAdd ? texts.partnerPage.noPartnersText : '' },
        caption: p.partners,
        columns: [[p.partners, 'head'], p.partnerId, p.created],
        rows: partners.map(({ id, name, createdAt }) => [
          html`<a href="${view.root}partners/${id}">${freeText(name)}</a>`,
          identifier(view, id, p.partnerId),
          time(view, createdAt, 'date'),
        ]),
      })}
      ${pager(view, { next, first: undefined })}`,
  })
}

/** The newest rows about a partner, apart from its rules. */
type PartnerActivity = {
  readonly isClosed: boolean
  readonly customers: Parameters<typeof customersTable>[2]
  readonly payees: Parameters<typeof payeesTable>[2]
  readonly payments: Parameters<typeof paymentsTable>[1]
  readonly cases: Parameters<typeof casesTable>[1]
  readonly hits: Parameters<typeof hitsTable>[1]
  readonly alerts: Parameters<typeof alertsTable>[1]
  readonly changes: readonly DeskChange[]
  readonly team: Awaited<ReturnType<DeskFrame['members']['listUsers']>>['data']
  readonly webhooks: Awaited<ReturnType<DeskFrame['webhooks']['list']>>['data']
  readonly notes: Parameters<typeof notesSection>[1]['notes']
}

type PartnerDetails = PartnerRules & {
  readonly sections: readonly SectionRows[]
  readonly concerns: PartnerActivity
  readonly acts?: Html | undefined
  readonly said?: Html | undefined
}

export function partnerPage(view: ConsoleView, shown: PartnerDetails): string {
  const texts = deskTexts[view.language]
  const [p, d, g] = [texts.partners, texts.parties, texts.partnerPage]
  const { partner, said, refused, concerns } = shown
  const sectionOf = (id: Section['id']) => shown.sections.find(({ section: each }) => each.id === id)
  const blocks = sectionOf('blocks')?.rows.length ?? 0
  const part = (id: Section['id']) => {
    const found = sectionOf(id)
    return found === undefined ? [] : [{ id, title: p[id], body: sectionPart(view, shown, found) }]
  }
  const parts = [
    ...part('balances'),
    ...part('blocks'),
    ...waitingParts(view, shown),
    ...peopleParts(view, shown),
    ...ruleSections.flatMap(part),
    ...accessParts(view, shown),
    ...part('recoveries'),
    ...part('credentials'),
    ...(shown.acts === undefined ? [] : [{ id: 'more', title: d.more, body: section('more', d.more, shown.acts) }]),
    {
      ...{ id: 'notes', title: d.notes },
      body: notesSection(view, {
        about: { partnerId: partner.id, kind: 'partner', subjectId: partner.id },
        notes: concerns.notes,
      }),
    },
  ]
  return shell(view, {
    title: partner.name,
    wide: true,
    problems: { form: refused?.error },
    main: html`${said}
      <h1>${partner.name}</h1>
      ${summaryStrip([
        [g.partnerState, concerns.isClosed ? badge('warning', g.closed) : badge('good', g.active)],
        [
          p.blocks,
          blocks === 0 ? badge('good', g.notBlocked) : badge('bad', fill(g.blocked, { count: String(blocks) })),
        ],
        [p.created, time(view, partner.createdAt, 'date')],
        [p.partnerId, identifier(view, partner.id, p.partnerId)],
      ])}
      ${pageContents(
        view,
        parts.map(({ id, title }) => [id, title]),
      )}
      ${parts.map(({ body }) => body)}`,
  })
}

/** Sections of rules, in page order. */
const ruleSections = ['limits', 'fees', 'approvals', 'coolingOffs', 'gates'] as const

/** Renders the sections of pending changes, cases, hits and alerts. */
function waitingParts(view: ConsoleView, { partner, concerns }: PartnerDetails): readonly PagePart[] {
  const d = deskTexts[view.language].parties
  const { cases, hits, alerts, changes } = concerns
  const path = `partners/${partner.id}`
  return [
    boundedPart(view, {
      ...{ id: 'changes', title: d.changes, rows: changes.length },
      body: changesTable(view, changes, d.changes),
    }),
    boundedPart(view, {
      ...{ id: 'cases', title: d.openCases, rows: cases.length, body: casesTable(view, cases, d.openCases) },
      all: `${path}/cases`,
    }),
    boundedPart(view, {
      ...{ id: 'hits', title: d.openHits, rows: hits.length, body: hitsTable(view, hits, d.openHits) },
      all: `${path}/hits`,
    }),
    boundedPart(view, { id: 'alerts', title: d.alerts, rows: alerts.length, body: alertsTable(view, alerts) }),
  ]
}

/** Renders the sections of the newest customers, with a search, and of payees and payments. */
function peopleParts(view: ConsoleView, { partner, concerns }: PartnerDetails): readonly PagePart[] {
  const texts = deskTexts[view.language]
  const [d, g] = [texts.parties, texts.partnerPage]
  const { customers, payees, payments } = concerns
  const path = `partners/${partner.id}`
  const search = searchForm(view, { path: `${view.root}${path}/customers`, q: '', label: d.searchCustomers })
  const table = customers.length === 0 ? html`<p>${d.none}</p>` : customersTable(view, partner.id, customers)
  const unreviewed = html`<p><a href="${view.root}${path}/unreviewed">${d.reviewsMissing}</a></p>`
  return [
    boundedPart(view, {
      ...{
        id: 'customers',
        title: d.customers,
        text: g.customersText,
        rows: 1,
        body: html`${search} ${table} ${unreviewed}`,
      },
      all: `${path}/customers`,
    }),
    boundedPart(view, {
      ...{ id: 'payees', title: d.payees, rows: payees.length, body: payeesTable(view, partner.id, payees) },
      all: `${path}/payees`,
    }),
    boundedPart(view, {
      ...{ id: 'payments', title: d.payments, text: g.paymentsText, rows: payments.length },
      ...{ body: paymentsTable(view, payments), all: `${path}/payments` },
    }),
  ]
}

const endpointReasons = { Gone: 'reasonGone', Failing: 'reasonFailing', Partner: 'reasonPartner' } as const

/** Renders the sections of the team and of the webhook endpoints of the partner. */
function accessParts(view: ConsoleView, { concerns }: PartnerDetails): readonly PagePart[] {
  const texts = deskTexts[view.language]
  const [d, g] = [texts.parties, texts.partnerPage]
  const { team, webhooks } = concerns
  const { t } = view
  const roles = { Admin: t.roleAdmin, Developer: t.roleDeveloper, Operator: t.roleOperator }
  return [
    boundedPart(view, {
      ...{ id: 'team', title: d.team, rows: team.length },
      body: table({
        caption: d.team,
        columns: [[d.name, 'head'], d.email, d.role, d.signIn],
        rows: team.map(({ fullName, email, role, lastSignInAt }) => [
          freeText(fullName),
          freeText(email),
          wordFor(roles, role),
          lastSignInAt === null ? t.never : time(view, lastSignInAt),
        ]),
      }),
    }),
    boundedPart(view, {
      ...{ id: 'webhooks', title: d.webhooks, rows: webhooks.length },
      body: table({
        caption: d.webhooks,
        columns: [[d.endpoint, 'head'], d.state, [d.events, 'number'], d.created],
        rows: webhooks.map(({ url, status, disabledReason, disabledAt, events, extensionEvents, createdAt }) => [
          freeText(url),
          status === 'Enabled'
            ? badge('good', g.enabled)
            : html`${badge('bad', g.disabled)}
                <span class="soft"
                  >${disabledReason !== null && g[endpointReasons[disabledReason]]}
                  ${disabledAt !== null && time(view, disabledAt)}</span
                >`,
          String(events.length + extensionEvents.length),
          time(view, createdAt, 'date'),
        ]),
      }),
    }),
  ]
}

const partnersShown = 50
/** Maximum rows of each section of rules. The command prints all of them. */
const rowsShown = 200
/** Maximum rows in each other section. A link opens the whole list. */
const newestShown = 5
const listedPerPage = 50

/** Actions on a partner that have no form next to the rows that they change. */
const partnerActs: readonly ActionName[] = [
  'account close',
  'segregation set',
  'segregation cover',
  'partner owners set',
  'service-account create',
  'service-account rotate',
  'service-account expire',
  'partner rotate',
  'partner expire',
  'ibans withdraw',
]

export const partnerRoutes = (frame: DeskFrame): readonly PublicRoute[] => [
  ...partnersRoutes(frame),
  ...listRoutes(frame),
  staffRoute(frame, 'partners', 'GET', '/partners/{id}', (request, person) => show(frame, request, person)),
  commandRoute(frame, {
    place: 'partners',
    path: '/partners/{id}/change',
    command: (form) => {
      if (!partnerCommands.has(form('command'))) throw notFound('change')
      return form('command')
    },
    key: async (request) => ({ partner: (await findPartner(frame, request)).id }),
    answer: ({ waits }, request) => {
      const back = `../${request.params['id']}`
      return seeOther(actionResultHref(back, readForm(request)('command'), waits))
    },
    again: (request, person, refused) => show(frame, request, person, refused),
  }),
]

const partnersRoutes = (frame: DeskFrame): readonly PublicRoute[] => [
  staffRoute(frame, 'partners', 'GET', '/partners', async (request, { view, signed }) => {
    const after = new URLSearchParams(request.query).get('after')
    const from = after !== null && uuidPattern.test(after) ? after : null
    const rows = await frame.partners.page(frame.db, from, partnersShown + 1)
    const partners = rows.slice(0, partnersShown)
    const next = rows.length > partnersShown ? `partners?after=${partners.at(-1)?.id ?? ''}` : undefined
    const mayAdd = frame.changes.mayDecide('partner create', signed.account.role)
    return page(request, 200, partnersPage(view, { partners, mayAdd, next }))
  }),
  staffRoute(frame, 'partners', 'GET', '/partners/find', (request) => {
    const id = new URLSearchParams(request.query).get('id')?.trim().toLowerCase() ?? ''
    if (!uuidPattern.test(id)) throw notFound('partner')
    return seeOther(id)
  }),
]

async function findPartner({ db, partners }: DeskFrame, { params }: PublicRequest): Promise<PartnerRow> {
  const { id = '' } = params
  const found = uuidPattern.test(id) ? await partners.byId(db, id) : undefined
  if (found === undefined) throw notFound('partner')
  return found
}

/** Routes of a partner's lists: customers, payees, payments, open cases and open hits. */
const listRoutes = (frame: DeskFrame): readonly PublicRoute[] => {
  const own = (
    method: 'GET' | 'POST',
    name: string,
    answer: (request: PublicRequest, person: Person, partner: PartnerRow) => Promise<PublicAnswer>,
  ) =>
    staffRoute(frame, 'partners', method, `/partners/{id}/${name}`, async (request, person) =>
      answer(request, person, await findPartner(frame, request)),
    )
  const waiting = <Row extends WaitingList['rows'][number]>(
    name: WaitingList['name'],
    label: 'openCases' | 'openHits',
    table: (view: ConsoleView, rows: readonly Row[], title: string) => Html,
    read: (partnerId: string, after: ReturnType<typeof readCursor>) => Promise<readonly Row[]>,
  ) =>
    own('GET', name, async (request, { view }, partner) => {
      const rows = await read(partner.id, readCursor(request))
      const title = deskTexts[view.language].parties[label]
      const shown = table(view, rows.slice(0, listedPerPage), title)
      return page(request, 200, openItemsPage(view, { partner, title, table: shown, name, rows }))
    })
  return [
    own('GET', 'customers', (request, person, partner) => showCustomers(frame, request, person, partner)),
    own('POST', 'customers', (request, person, partner) => showCustomers(frame, request, person, partner)),
    own('GET', 'payees', (request, person, partner) => showPayees(frame, request, person, partner)),
    own('POST', 'payees', (request, person, partner) => showPayees(frame, request, person, partner)),
    own('GET', 'payments', (request, person, partner) => showPayments(frame, request, person, partner)),
    waiting('cases', 'openCases', casesTable, (id, after) =>
      frame.cases.openOf(frame.db, id, after, listedPerPage + 1),
    ),
    waiting('hits', 'openHits', hitsTable, (id, after) =>
      frame.screening.openHitsOf(frame.db, id, after, listedPerPage + 1),
    ),
  ]
}

type WaitingList = {
  readonly partner: PartnerRow
  readonly title: string
  readonly name: 'cases' | 'hits'
  readonly table: Html
  /** The rows of the page, and one more if there is a next page. */
  readonly rows: readonly { readonly id: string; readonly openedAt: Date }[]
}

/** Renders the page of a partner's open cases or hits, oldest first. */
export function openItemsPage(view: ConsoleView, { partner, title, table: shown, name, rows }: WaitingList): string {
  const d = deskTexts[view.language].parties
  const path = `${view.root}partners/${partner.id}`
  const last = rows.length > listedPerPage ? rows[listedPerPage - 1] : undefined
  const next = last && pathWithQuery(`${path}/${name}`, { at: last.openedAt.toISOString(), after: last.id })
  return shell(view, {
    title: `${title}: ${partner.name}`,
    wide: true,
    main: html`${heading(`${title}: ${partner.name}`, linkButton(path, d.partner))}
    ${rows.length === 0 ? html`<p>${d.none}</p>` : shown} ${pager(view, { next, first: undefined })}`,
  })
}

async function showCustomers(
  frame: DeskFrame,
  request: PublicRequest,
  { view, signed }: Person,
  partner: PartnerRow,
): Promise<PublicAnswer> {
  const q = readSearchText(request)
  const cursor = new URLSearchParams(request.query).get('cursor')
  const listed =
    q === ''
      ? await frame.customers.list(partner.id, { limit: String(listedPerPage), ...(cursor !== null && { cursor }) })
      : { data: await searchCustomers(frame.customers, partner.id, q, listedPerPage), nextCursor: null }
  await frame.staff.recordOpened(
    signed,
    'customers',
    listed.data.map(({ id }) => `${partner.id}/${id}`),
  )
  const customers = await withVerification(frame, partner.id, listed.data)
  const path = `${view.root}partners/${partner.id}/customers`
  const body = customersPage(view, {
    ...{ partnerId: partner.id, partnerName: partner.name, q, customers },
    next: listed.nextCursor === null ? undefined : pathWithQuery(path, { cursor: listed.nextCursor }),
    first: cursor === null ? undefined : path,
  })
  return page(request, 200, body)
}
/** Reads the search text. Empty without a search. */
const readSearchText = (request: PublicRequest): string => readForm(request)('q').trim().slice(0, searchedCharsMax)
const searchedCharsMax = 140

async function showPayees(
  frame: DeskFrame,
  request: PublicRequest,
  { view, signed }: Person,
  partner: PartnerRow,
): Promise<PublicAnswer> {
  const fields = new URLSearchParams(request.query)
  const [customer, cursor] = [fields.get('customer'), fields.get('cursor')]
  if (customer !== null && !uuidPattern.test(customer)) throw notFound('page')
  const q = readSearchText(request)
  const query = { limit: String(listedPerPage), ...(customer !== null && { customerId: customer }) }
  const listed =
    q === ''
      ? await frame.beneficiaries.list(partner.id, { ...query, ...(cursor !== null && { cursor }) })
      : { data: await searchPayees(frame.beneficiaries, partner.id, q, listedPerPage), nextCursor: null }
  await frame.staff.recordOpened(
    signed,
    'payees',
    listed.data.map(({ id }) => `${partner.id}/${id}`),
  )
  const path = `${view.root}partners/${partner.id}/payees`
  const named = customer === null ? {} : { customer }
  const body = payeesPage(view, {
    ...{ partnerId: partner.id, partnerName: partner.name, q, payees: listed.data },
    customerId: customer ?? undefined,
    next: listed.nextCursor === null ? undefined : pathWithQuery(path, { ...named, cursor: listed.nextCursor }),
    first: cursor === null ? undefined : pathWithQuery(path, named),
  })
  return page(request, 200, body)
}

async function show(
  frame: DeskFrame,
  request: PublicRequest,
  person: Person,
  refused?: RefusedForm,
): Promise<PublicAnswer> {
  const { changes } = frame
  const { view, signed } = person
  const partner = await findPartner(frame, request)
  const { role } = signed.account
  const may = new Set([...partnerCommands].filter((command) => changes.mayDecide(command, role)))
  const readSection = async (own: Section): Promise<SectionRows> => {
    const rows = (await changes.read(own.list, { partner: partner.id })) as SectionRows['rows']
    return { section: own, rows: rows.slice(0, rowsShown), may }
  }
  const [shown, concerns] = await Promise.all([
    Promise.all(sections.map(readSection)),
    readActivity(frame, person, partner),
  ])
  const opened = [partner.id, ...concerns.customers.map(({ id }) => `${partner.id}/${id}`)]
  await frame.staff.recordOpened(signed, 'partner', opened)
  const offered = { acts: partnerActs, given: { partner: partner.id }, back: `partners/${partner.id}` }
  const body = partnerPage(view, {
    ...{ partner, sections: shown, optionsOf: changes.form, refused, concerns },
    acts: actionButtons(view, { ...frame, person }, offered),
    said: noteMessage(view, request) ?? actionMessage(view, request),
  })
  return page(request, refused === undefined ? 200 : 400, body)
}

/** Reads the newest rows of each kind in parallel. Each statement reads a few rows by an index. */
async function readActivity(frame: DeskFrame, { signed }: Person, { id }: PartnerRow): Promise<PartnerActivity> {
  const { db, access, beneficiaries, cases, customers, members, screening, staff, transactions, webhooks } = frame
  const limit = String(newestShown)
  const [isClosed, newest, payees, payments, open, hits, alerts, changes, team, endpoints, notes] = await Promise.all([
    access.isClosed(db, id),
    customers.list(id, { limit }).then(({ data }) => withVerification(frame, id, data)),
    beneficiaries.list(id, { limit }),
    transactions.list(id, { limit }).then(({ data }) => transactions.withUsers(data)),
    cases.openOf(db, id, undefined, newestShown),
    screening.openHitsOf(db, id, undefined, newestShown),
    readAlerts(frame, id),
    listChanges(frame, signed),
    members.listUsers(id, { limit: '25' }),
    webhooks.list(id, { limit: '25' }),
    staff.notes.of(db, { partnerId: id, kind: 'partner', subjectId: id }, undefined, 2 * newestShown),
  ])
  return {
    ...{ isClosed, payments, hits, alerts, notes, customers: newest, cases: open },
    payees: payees.data,
    changes: changes.filter(({ partnerId }) => partnerId === id),
    team: team.data,
    webhooks: endpoints.data,
  }
}
