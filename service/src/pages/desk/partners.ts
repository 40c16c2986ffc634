/** The partners, one partner with its rules, blocks and credentials, and the overdue reviews of customers of all partners. */
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute } from '../../kernel/api/index.ts'
import type { Review } from '../../parties/customers/index.ts'
import { isDay } from '../../reports/safeguarding/index.ts'
import { asking, field, hiddenField, openDialog } from '../kit/forms.ts'
import { badge, calendarDay, call, empty, facts, freeText, identifier, message, table, time } from '../kit/parts.ts'
import { pager } from '../kit/lists.ts'
import { page, seeOther, uuid } from '../kit/request.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { commandFields, commandRoute, nameOf, noteField, type RefusedForm, saidOf, saidTones } from './forms.ts'
import { type DeskChanges, type DeskFrame, type PartnerRow, type Person, staffRoute } from './request.ts'
import { deskTexts } from './texts.ts'

type PartnersShown = { readonly partners: readonly PartnerRow[]; readonly next?: string | undefined }

export function partnersPage(view: ConsoleView, { partners, next }: PartnersShown): string {
  const p = deskTexts[view.language].partners
  const add = 'npm run -s operator -- partner create --name NAME'
  return shell(view, {
    title: p.partners,
    main: html`<h1>${p.partners}</h1>
      <p class="lead">${p.partnersText}</p>
      <form method="get" action="${view.root}partners/find" class="filters">
        ${field({ id: 'id', name: 'id', label: p.partnerId, more: html`maxlength="36"` })}
        <button type="submit">${p.openById}</button>
      </form>
      ${
        partners.length === 0
          ? empty({ title: p.noPartners, text: p.noPartnersText, more: call(view, add, p.addCall) })
          : table({
              caption: p.partners,
              columns: [[p.partners, 'head'], p.partnerId, p.created],
              rows: partners.map(({ id, name, createdAt }) => [
                html`<a href="${view.root}partners/${id}">${freeText(name)}</a>`,
                identifier(view, id, p.partnerId),
                time(view, createdAt, 'date'),
              ]),
            })
      }
      ${pager(view, { next, first: undefined })}`,
  })
}

type Value = string | number | bigint | boolean | Date | null | undefined | readonly string[]
/** A row as the command prints it. */
type Printed = Readonly<Record<string, Value>>

type ShownSection = {
  readonly section: Section
  readonly rows: readonly Printed[]
  /** The commands that the reader's role may run. */
  readonly may: ReadonlySet<string>
}

type PartnerShown = {
  readonly partner: PartnerRow
  readonly sections: readonly ShownSection[]
  readonly optionsOf: DeskChanges['form']
  readonly said?: keyof typeof saidTones | undefined
  readonly refused?: RefusedForm | undefined
}

export function partnerPage(view: ConsoleView, shown: PartnerShown): string {
  const p = deskTexts[view.language].partners
  const { partner, said, refused } = shown
  return shell(view, {
    title: partner.name,
    wide: true,
    problems: { form: refused?.error },
    main: html`<h1>${partner.name}</h1>
      ${said !== undefined && message(saidTones[said], p[said])}
      ${facts([
        [p.partnerId, identifier(view, partner.id, p.partnerId)],
        [p.created, time(view, partner.createdAt)],
      ])}
      ${shown.sections.map((section) => sectionPart(view, shown, section))}`,
  })
}

function sectionPart(view: ConsoleView, shown: PartnerShown, { section, rows, may }: ShownSection): Html {
  const p = deskTexts[view.language].partners
  const { removal, columns, list } = section
  const removes = removal !== undefined && may.has(removal.command)
  const title = p[section.id]
  const labels = columns.map((column) => nameOf(view, list, column))
  return html`<section aria-labelledby="${section.id}-title">
    <h2 id="${section.id}-title">${title}</h2>
    ${
      rows.length === 0
        ? html`<p>${p.none}</p>`
        : table({
            caption: title,
            columns: [
              ...labels.map((label, at) => (at === 0 ? ([label, 'head'] as const) : label)),
              ...(removes ? [[p.actions, 'actions'] as const] : []),
            ],
            rows: rows.map((row, at) => [
              ...columns.map((column) => cell(view, row[column])),
              ...(removes ? [remover(view, section, row, at)] : []),
            ]),
          })
    }
    ${removes && rows.map((row, at) => removalDialog(view, shown, section, row, at))}
    ${section.changes.filter((command) => may.has(command)).map((command) => changeForm(view, shown, section, command))}
  </section>`
}

const timeForm = /^\d{4}-\d\d-\d\dT/

/** A value as a command prints it: a time, a list, a word. */
function cell(view: ConsoleView, value: Value): Html | string {
  if (value === null || value === undefined) return '–'
  if (value instanceof Date) return time(view, value)
  if (typeof value === 'object') return value.length > 6 ? String(value.length) : freeText(value.join(', '))
  const text = String(value)
  return timeForm.test(text) && !Number.isNaN(Date.parse(text)) ? time(view, new Date(text)) : freeText(text)
}

const wordsOf = ({ columns }: Section, row: Printed): string =>
  columns
    .map((column) => row[column])
    .filter((value) => typeof value === 'string')
    .slice(0, 3)
    .join(' ')

const remover = (view: ConsoleView, section: Section, row: Printed, at: number): Html =>
  openDialog({
    ...{
      id: `${section.id}-remove-${at}`,
      label: deskTexts[view.language].partners.remove,
      about: wordsOf(section, row),
    },
    tone: 'danger',
  })

function removalDialog(view: ConsoleView, { partner }: PartnerShown, section: Section, row: Printed, at: number): Html {
  const p = deskTexts[view.language].partners
  const { removal } = section
  if (removal === undefined) return html``
  const id = `${section.id}-remove-${at}`
  const title = p[removal.command as keyof typeof p]
  return asking({
    ...{ id, title, action: `${view.root}partners/${partner.id}/change` },
    about: html`<p>${wordsOf(section, row)}</p>
      ${hiddenField('command', removal.command)} ${hiddenField(removal.option, String(row[removal.column]))}
      ${noteField(view, `${id}-note`)}`,
    ...{ submit: title, look: 'danger', cancel: p.back },
  })
}

function changeForm(
  view: ConsoleView,
  { partner, refused, optionsOf }: PartnerShown,
  section: Section,
  command: string,
): Html {
  const p = deskTexts[view.language].partners
  const typed = refused?.command === command ? refused.form : () => ''
  const prefix = `${section.id}-${command.replaceAll(' ', '-')}-`
  const title = p[command as keyof typeof p]
  return html`<details class="more" ${refused?.command === command && html` open`}>
    <summary>${title}</summary>
    <form method="post" action="${view.root}partners/${partner.id}/change">
      ${hiddenField('command', command)}
      <div class="grid">
        ${commandFields(view, { command, options: optionsOf(command), without: ['partner'], prefix, typed })}
      </div>
      ${noteField(view, `${prefix}note`, { value: typed('note') })}
      <button type="submit" class="primary">${title}</button>
    </form>
  </details>`
}

type Section = {
  readonly id:
    | 'balances'
    | 'blocks'
    | 'limits'
    | 'fees'
    | 'approvals'
    | 'coolingOffs'
    | 'gates'
    | 'recoveries'
    | 'credentials'
  readonly list: string
  readonly columns: readonly string[]
  /** Commands with a form. */
  readonly changes: readonly string[]
  /** The command that removes a row, and the option and the column that name the row. */
  readonly removal?: { readonly command: string; readonly option: string; readonly column: string }
}

const byId = (command: string) => ({ command, option: 'id', column: 'id' })

/** The rules of a partner: the command that lists each kind, the columns that it prints, and the commands that change it. */
export const sections: readonly Section[] = [
  {
    id: 'balances',
    list: 'ledger balances',
    columns: ['account', 'currency', 'posted', 'reserved', 'available'],
    changes: [],
  },
  {
    id: 'blocks',
    list: 'account list',
    columns: ['currency', 'customerId', 'state', 'reason', 'staff', 'changedAt'],
    changes: ['account block', 'account unblock'],
  },
  {
    id: 'limits',
    list: 'limit list',
    columns: ['scope', 'scopeId', 'verificationState', 'period', 'currency', 'amount', 'allCurrencies'],
    changes: ['limit set'],
    removal: byId('limit remove'),
  },
  {
    id: 'fees',
    list: 'fee list',
    columns: ['rail', 'currency', 'fixed', 'basisPoints', 'min', 'max', 'validFrom'],
    changes: ['fee set'],
    removal: byId('fee remove'),
  },
  {
    id: 'approvals',
    list: 'approval list',
    columns: [
      ...['currency', 'allCurrencies', 'above', 'aboveDay', 'aboveBulk', 'beneficiaryHours', 'payeeMismatch'],
      ...['perPerson', 'expiresHours', 'needsPasskey'],
    ],
    changes: ['approval set'],
    removal: byId('approval remove'),
  },
  {
    id: 'coolingOffs',
    list: 'cooling-off list',
    columns: ['currency', 'hours'],
    changes: ['cooling-off set'],
    removal: byId('cooling-off remove'),
  },
  {
    id: 'gates',
    list: 'gate list',
    columns: ['verificationState', 'allowed'],
    changes: ['gate set'],
    removal: { command: 'gate remove', option: 'state', column: 'verificationState' },
  },
  {
    id: 'recoveries',
    list: 'member recovery list',
    columns: ['email', 'status', 'begunBy', 'reason', 'dueAt'],
    changes: ['member recover'],
    removal: byId('member recovery cancel'),
  },
  {
    id: 'credentials',
    list: 'service-account list',
    columns: ['name', 'status', 'permissions', 'impersonatedBy', 'lastUsedAt', 'expiresAt'],
    changes: [],
    removal: { command: 'service-account revoke', option: 'id', column: 'serviceAccountId' },
  },
]
/** The commands of these forms. No other is run from the page of a partner. */
const partnerCommands: ReadonlySet<string> = new Set(
  sections.flatMap(({ changes, removal }) => [...changes, ...(removal === undefined ? [] : [removal.command])]),
)

const partnersShown = 50
/** More rows of one kind are read by the command. */
const rowsShown = 200

export const partnerRoutes = (frame: DeskFrame): readonly PublicRoute[] => [
  ...listRoutes(frame),
  staffRoute(frame, 'partners', 'GET', '/partners/{id}', (request, person) => show(frame, request, person)),
  commandRoute(frame, {
    place: 'partners',
    path: '/partners/{id}/change',
    command: (form) => {
      if (!partnerCommands.has(form('command'))) throw notFound('change')
      return form('command')
    },
    key: async (request) => ({ partner: (await find(frame, request)).id }),
    answer: ({ waits }, { params }) => seeOther(`../${params['id']}?${waits === undefined ? 'done' : 'waits'}`),
    again: (request, person, refused) => show(frame, request, person, refused),
  }),
]

const listRoutes = (frame: DeskFrame): readonly PublicRoute[] => [
  staffRoute(frame, 'partners', 'GET', '/partners', async (request, { view }) => {
    const after = new URLSearchParams(request.query).get('after')
    const from = after !== null && uuid.test(after) ? after : null
    const rows = await frame.partners.page(frame.db, from, partnersShown + 1)
    const partners = rows.slice(0, partnersShown)
    const next = rows.length > partnersShown ? `partners?after=${partners.at(-1)?.id ?? ''}` : undefined
    return page(request, 200, partnersPage(view, { partners, next }))
  }),
  staffRoute(frame, 'partners', 'GET', '/partners/find', (request) => {
    const id = new URLSearchParams(request.query).get('id')?.trim().toLowerCase() ?? ''
    if (!uuid.test(id)) throw notFound('partner')
    return seeOther(id)
  }),
]

async function find({ db, partners }: DeskFrame, { params }: PublicRequest): Promise<PartnerRow> {
  const { id = '' } = params
  const found = uuid.test(id) ? await partners.byId(db, id) : undefined
  if (found === undefined) throw notFound('partner')
  return found
}

async function show(
  frame: DeskFrame,
  request: PublicRequest,
  { view, signed }: Person,
  refused?: RefusedForm,
): Promise<PublicAnswer> {
  const { changes } = frame
  const partner = await find(frame, request)
  const { role } = signed.account
  const may = new Set([...partnerCommands].filter((command) => changes.mayDecide(command, role)))
  const shown = await Promise.all(
    sections.map(async (section): Promise<ShownSection> => {
      const rows = (await changes.read(section.list, { partner: partner.id })) as ShownSection['rows']
      return { section, rows: rows.slice(0, rowsShown), may }
    }),
  )
  const content = { partner, sections: shown, optionsOf: changes.form, said: saidOf(request), refused }
  return page(request, refused === undefined ? 200 : 400, partnerPage(view, content))
}

const tones = { low: 'neutral', medium: 'warning', high: 'bad' } as const

type Shown = {
  readonly reviews: readonly Review[]
  readonly next?: string | undefined
  readonly first?: string | undefined
}

export function reviewsPage(view: ConsoleView, { reviews, next, first }: Shown): string {
  const d = deskTexts[view.language].reviews
  const record =
    'npm run -s operator -- review set --partner ID --customer ID --risk low|medium|high --staff NAME --note TEXT'
  return shell(view, {
    title: d.reviews,
    wide: true,
    main: html`<h1>${d.reviews}</h1>
      <p class="lead">${d.reviewsText}</p>
      ${
        reviews.length === 0
          ? empty({ title: d.none, text: d.noneText, more: call(view, record, d.call) })
          : html`${table({
              caption: d.reviews,
              columns: [[d.customer, 'head'], d.partner, d.due, d.risk, d.reviewed, d.by],
              rows: reviews.map(({ customerId, partnerId, dueOn, risk, reviewedAt, reviewedBy }) => [
                identifier(view, customerId, d.customer),
                identifier(view, partnerId, d.partner),
                calendarDay(view, dueOn),
                badge(tones[risk], d[risk]),
                time(view, reviewedAt),
                freeText(reviewedBy),
              ]),
            })}
            ${call(view, record, d.call)}`
      }
      ${pager(view, { next, first })} ${call(view, 'npm run -s operator -- review missing --partner ID', d.missing)}`,
  })
}

const reviewsShown = 50

export function reviewRoutes(frame: DeskFrame): readonly PublicRoute[] {
  const { db, customers } = frame
  return [
    staffRoute(frame, 'reviews', 'GET', '/reviews', async (request, { view }) => {
      const after = lastOf(request)
      const rows = await customers.reviews.overduePage(db, { after, rowsMax: reviewsShown + 1 })
      const reviews = rows.slice(0, reviewsShown)
      const last = rows.length > reviewsShown ? reviews.at(-1) : undefined
      const next = last && `reviews?due=${last.dueOn}&after=${last.customerId}`
      return page(request, 200, reviewsPage(view, { reviews, next, first: after && 'reviews' }))
    }),
  ]
}

/** The last row of the page before. Undefined: the first page. */
function lastOf({ query }: PublicRequest) {
  const fields = new URLSearchParams(query)
  const [dueOn, customerId] = [fields.get('due') ?? '', fields.get('after') ?? '']
  return isDay(dueOn) && uuid.test(customerId) ? { dueOn, customerId } : undefined
}
