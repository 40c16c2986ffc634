/** The pages of bank files: the list, and the contents and state of each file. */
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute } from '../../kernel/api/index.ts'
import { type CaseKind, operatorPartnerId } from '../../cases/index.ts'
import { amountText, isCurrency, uuidPattern } from '../../kernel/index.ts'
import {
  type BankFile,
  type BankFileDetails,
  bankFileFilters,
  type FileEntry,
  type FilePayment,
  type FileRecall,
  type FileStatement,
} from '../../rails/index.ts'
import {
  account,
  badge,
  calendarDay,
  emptyState,
  facts,
  freeText,
  identifier,
  message,
  money,
  summaryStrip,
  table,
  time,
} from '../kit/parts.ts'
import { hiddenField, select } from '../kit/forms.ts'
import { filters, pager } from '../kit/lists.ts'
import { type FieldReader, page, seeOther } from '../kit/request.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { kindName } from './kinds.ts'
import { findButton } from './things.ts'
import { commandRoute, noteField } from './forms.ts'
import { titledTable } from './parties.ts'
import { deskTexts } from './texts.ts'
import { type DeskFrame, type Person, staffRoute } from './request.ts'

const tones = {
  Taking: 'neutral',
  Taken: 'good',
  Repeated: 'neutral',
  Aside: 'bad',
  Released: 'good',
  Made: 'warning',
  Staged: 'warning',
  Delivered: 'good',
} as const

/**
 * The form to release a quarantined file. `mayTake`: the person's role may propose it. `typed`: values of a refused
 * form.
 */
type TakeForm = {
  readonly mayTake: boolean
  readonly waits?: boolean
  readonly error?: string | undefined
  readonly typed: (name: string) => string
}

type FileList = {
  readonly files: readonly BankFile[]
  readonly banks: readonly string[]
  readonly bank: string | undefined
  readonly show: (typeof bankFileFilters)[number]
  readonly next?: string | undefined
  readonly first?: string | undefined
}

export function filesPage(view: ConsoleView, { files, banks, bank, show, next, first }: FileList): string {
  const d = deskTexts[view.language].files
  const shown = bankFileFilters.map((each) => [each, d[each]] as const)
  return shell(view, {
    title: d.files,
    wide: true,
    main: html`<h1>${d.files}</h1>
      <p class="lead">${d.filesText}</p>
      ${filters(view, {
        path: `${view.root}files`,
        main: [
          select({ id: 'show', name: 'show', label: d.show, value: show, options: shown }),
          select({
            ...{ id: 'bank', name: 'bank', label: d.bank, value: bank, any: d.allBanks },
            options: banks.map((each) => [each, each] as const),
          }),
        ],
        active: bank !== undefined || show !== 'all',
      })}
      ${files.length === 0 ? emptyState({ title: d.none, text: d.noneText }) : filesTable(view, files)}
      ${pager(view, { next, first })}`,
  })
}

function filesTable(view: ConsoleView, files: readonly BankFile[]): Html {
  const d = deskTexts[view.language].files
  return table({
    caption: d.files,
    columns: [[d.name, 'head'], d.state, d.kind, d.at, d.direction, d.bank, d.reason],
    rows: files.map(({ id, name, state, kind, at, direction, connector, problem }) => [
      html`<a href="${view.root}files/${id}">${freeText(name)}</a>`,
      badge(tones[state], d[state]),
      kind ?? d.unknownKind,
      time(view, at),
      direction === 'sent' ? d.toBank : d.fromBank,
      connector,
      freeText(problem ?? ''),
    ]),
  })
}

/** Kinds of cases whose file may be processed after two people agree. */
const takeableKinds: ReadonlySet<CaseKind> = new Set(['message_differs', 'sum_differs', 'file_unreadable'])

export function filePage(view: ConsoleView, shown: FileDetails & TakeForm): string {
  const d = deskTexts[view.language].files
  const { file, cases, next, first, error, waits = false } = shown
  const state = file.state === 'Aside' && file.releasedAt !== null ? 'Released' : file.state
  const found = cases.get(file.id)
  return shell(view, {
    title: `${d.name} ${file.name}`,
    wide: true,
    problems: { form: error },
    main: html`<h1>${freeText(file.name)}</h1>
      ${waits && message('good', d.takeWaits)}
      ${summaryStrip([
        [d.state, badge(tones[state], d[state])],
        [d.kind, file.kind ?? d.unknownKind],
        [d.direction, file.direction === 'sent' ? d.toBank : d.fromBank],
        [d.bank, freeText(file.connector)],
      ])}
      ${message(tones[state], d[`${state}Text`])}
      ${
        file.state === 'Aside' &&
        file.problem !== null &&
        html`<h2>${d.reason}</h2>
          <p>${freeText(file.problem)}</p>`
      }
      ${
        found !== undefined &&
        html`<div class="buttons">
            <a class="button" href="${view.root}cases/${found.partnerId}/${found.id}"
              >${d.openCase}: ${kindName(view, found.kind)}</a
            >
          </div>
          ${takeableKinds.has(found.kind) && file.messageId !== null && takeForm(view, { ...shown, caseId: found.id })}`
      }
      ${fileFacts(view, file)} ${fileContents(view, shown)} ${pager(view, { next, first })}`,
  })
}

function takeForm(
  view: ConsoleView,
  { file, caseId, mayTake, typed }: FileDetails & TakeForm & { readonly caseId: string },
): Html {
  const d = deskTexts[view.language].files
  if (!mayTake) return message('neutral', d.takeReadOnly)
  return html`<h2>${d.take}</h2>
    <form method="post" action="${view.root}files/${file.id}/take">
      ${hiddenField('case', caseId)}
      ${noteField(view, 'note', { label: d.takeNote, help: d.takeText, value: typed('note') })}
      <button type="submit">${d.takePropose}</button>
    </form>`
}

function fileFacts(view: ConsoleView, file: BankFileDetails): Html {
  const d = deskTexts[view.language].files
  const { messageId, at, endedAt, releasedAt, bytes, sha256, sent, problem, state } = file
  const ended = endedAt === null ? undefined : time(view, endedAt, 'seconds')
  return facts([
    [d.messageId, messageId === null ? undefined : identifier(view, messageId, d.messageId)],
    [sent === null ? d.receivedAt : d.madeAt, time(view, at, 'seconds')],
    [sent === null ? d.takenAt : d.deliveredAt, ended],
    [d.releasedAt, releasedAt === null ? undefined : time(view, releasedAt, 'seconds')],
    [d.bytes, String(bytes)],
    [d.digest, identifier(view, sha256, d.digest)],
    ...(sent === null
      ? []
      : ([
          [d.payments, String(sent.payments)],
          [d.controlSum, sent.controlSum],
          [d.attempts, String(sent.attempts)],
          [d.bankStatus, freeText(sent.bankStatus ?? d.noAnswer)],
        ] as const)),
    [d.problem, state === 'Aside' || problem === null ? undefined : freeText(problem)],
  ])
}

type CaseKey = { readonly partnerId: string; readonly id: string; readonly kind: CaseKind }
/** Open cases by the id of their subject: a file, an entry or a payment. */
type CasesBySubject = ReadonlyMap<string, CaseKey>

export type FileDetails = {
  readonly file: BankFileDetails
  readonly cases: CasesBySubject
  readonly statements: readonly FileStatement[]
  readonly hasMoreStatements: boolean
  /** The statement whose entries the page shows. */
  readonly statement: FileStatement | undefined
  readonly entries: readonly FileEntry[]
  readonly payments: readonly FilePayment[]
  readonly recalls: readonly FileRecall[]
  readonly next?: string | undefined
  readonly first?: string | undefined
}

function fileContents(view: ConsoleView, shown: FileDetails): Html | false | undefined {
  const d = deskTexts[view.language].files
  const { file, statements, statement } = shown
  if (file.sent !== null) return shown.recalls.length > 0 ? recallsTable(view, shown) : paymentsTable(view, shown)
  if (statements.length > 0)
    return html`${statementsTable(view, shown)} ${statement && entriesTable(view, shown, statement)}`
  return file.state === 'Taken' && html`<p>${d.noContents}</p>`
}

const amountIn = (view: ConsoleView, amount: bigint, currency: string): Html | string =>
  isCurrency(currency) ? money(view, amountText(amount, currency), currency) : `${amount} ${currency}`

function statementsTable(view: ConsoleView, { file, statements, hasMoreStatements }: FileDetails): Html {
  const d = deskTexts[view.language].files
  const balance = (amount: bigint | null, currency: string) =>
    amount === null ? d.notStated : amountIn(view, amount, currency)
  return html`<h2>${d.statements}</h2>
    ${hasMoreStatements && message('warning', d.moreStatements)}
    ${table({
      caption: d.statements,
      columns: [
        [d.statement, 'head'],
        d.account,
        d.day,
        [d.opening, 'number'],
        [d.credits, 'number'],
        [d.debits, 'number'],
        [d.closing, 'number'],
        [d.entries, 'number'],
      ],
      rows: statements.map((each) => [
        freeText(each.sequence === null ? each.statementId : `${each.statementId}, ${d.sequence} ${each.sequence}`),
        account(view, each.account),
        each.closingOn === null ? '' : calendarDay(view, each.closingOn),
        balance(each.opening, each.currency),
        amountIn(view, each.credits, each.currency),
        amountIn(view, each.debits, each.currency),
        balance(each.closing, each.currency),
        html`<a href="${view.root}files/${file.id}?statement=${each.id}"
          >${fill(d.showEntries, { count: String(each.entries) })}<span class="away"> ${each.statementId}</span></a
        >`,
      ]),
    })}`
}

function entriesTable(view: ConsoleView, { entries, cases }: FileDetails, statement: FileStatement): Html {
  const d = deskTexts[view.language].files
  const { currency, statementId, kind } = statement
  const title = fill(d.entriesOf, { statement: statementId })
  const outcome = ({ kind: matched, payments }: FileEntry): string => {
    const word = (d as Readonly<Record<string, string>>)[matched] ?? matched
    return payments === 1n ? word : fill(d.ofPayments, { word, count: String(payments) })
  }
  return html`<h2>${title}</h2>
    ${kind !== 'camt.053' && html`<p>${d.announcedText}</p>`}
    ${
      entries.length === 0
        ? html`<p>${d.noEntries}</p>`
        : table({
            caption: title,
            columns: [
              [d.outcome, 'head'],
              [d.amount, 'number'],
              d.bookedOn,
              d.inLedger,
              d.payout,
              d.partner,
              d.case,
              d.entry,
            ],
            rows: entries.map((each) => [
              outcome(each),
              amountIn(view, each.amount, currency),
              calendarDay(view, each.bookedOn),
              badge(each.status === 'Applied' ? 'good' : 'warning', d[each.status]),
              each.kind === 'payout' || each.kind === 'return' ? findPayoutButton(view, each.subjectId) : '',
              partnerLink(view, each.subjectPartnerId),
              caseLink(view, cases, [each.id, each.subjectId]),
              identifier(view, each.id, d.entry),
            ]),
          })
    }`
}

function paymentsTable(view: ConsoleView, { payments, cases }: FileDetails): Html | undefined {
  const d = deskTexts[view.language].files
  return titledTable({
    caption: d.paymentsOf,
    none: d.noPayments,
    columns: [
      [d.endToEndId, 'head'],
      [d.amount, 'number'],
      d.status,
      d.code,
      d.payout,
      d.partner,
      d.case,
      d.instruction,
    ],
    rows: payments.map((each) => [
      identifier(view, each.endToEndId, d.endToEndId),
      amountIn(view, each.amount, each.currency),
      badge(statusTone(each.status), each.status),
      freeText(each.reasonCode ?? ''),
      findPayoutButton(view, each.id),
      partnerLink(view, each.partnerId),
      caseLink(view, cases, [each.id]),
      identifier(view, each.id, d.instruction),
    ]),
  })
}

function recallsTable(view: ConsoleView, { recalls, cases }: FileDetails): Html | undefined {
  const d = deskTexts[view.language].files
  return titledTable({
    caption: d.recalls,
    columns: [[d.recall, 'head'], d.status, d.reason, d.answer, d.payout, d.partner, d.case],
    rows: recalls.map((each) => [
      identifier(view, each.id, d.recall),
      badge(statusTone(each.status), each.status),
      freeText(each.reason),
      freeText(each.answerCode ?? ''),
      findPayoutButton(view, each.instructionId),
      partnerLink(view, each.partnerId),
      caseLink(view, cases, [each.id, each.instructionId]),
    ]),
  })
}

const statusTone = (status: string): 'good' | 'bad' | 'neutral' =>
  ['Settled', 'Accepted'].includes(status)
    ? 'good'
    : ['Rejected', 'Refused', 'Returned'].includes(status)
      ? 'bad'
      : 'neutral'

/** Renders a button that searches for the payout, or nothing without an id. */
export function findPayoutButton(view: ConsoleView, id: string | null): Html | string {
  if (id === null) return ''
  return findButton(view, id, deskTexts[view.language].files.findPayout)
}

export function partnerLink(view: ConsoleView, id: string | null): Html | string {
  const d = deskTexts[view.language].files
  return id === null || id === operatorPartnerId
    ? ''
    : html`<a href="${view.root}partners/${id}">${d.openPartner}<span class="away"> ${d.partner} ${id}</span></a>`
}

function caseLink(view: ConsoleView, cases: CasesBySubject, subjects: readonly (string | null)[]): Html | string {
  const found = subjects.map((id) => (id === null ? undefined : cases.get(id))).find((each) => each !== undefined)
  return found === undefined
    ? ''
    : html`<a href="${view.root}cases/${found.partnerId}/${found.id}">${kindName(view, found.kind)}</a>`
}

const filesShown = 50
const rowsShown = 100
const statementsShown = 100

export const fileRoutes = (frame: DeskFrame): readonly PublicRoute[] => [
  staffRoute(frame, 'files', 'GET', '/files', async (request, { view }) => {
    const wanted = readFilters(request)
    const { bankFiles, db } = frame
    const rows = await bankFiles.page(db, { ...wanted, rowsMax: filesShown + 1 })
    const files = rows.slice(0, filesShown)
    const last = rows.length > filesShown ? files.at(-1) : undefined
    const { connector: bank, show } = wanted
    const query = (more: Readonly<Record<string, string>>) =>
      `files?${new URLSearchParams({ show, ...(bank === undefined ? {} : { bank }), ...more }).toString()}`
    return page(
      request,
      200,
      filesPage(view, {
        ...{ files, banks: bankFiles.connectorIds, bank, show },
        next: last && query({ at: last.at.toISOString(), after: last.id }),
        first: wanted.after && query({}),
      }),
    )
  }),
  staffRoute(frame, 'files', 'GET', '/files/{id}', (request, person) => show(frame, request, person)),
  commandRoute(frame, {
    ...{ place: 'files', path: '/files/{id}/take', command: 'bank file take' },
    // The form contains the id of the case, which the path does not.
    key: () => ({}),
    more: (form) => ({ id: form('case') }),
    answer: (_ran, { params }) => seeOther(`../${params['id'] ?? ''}?waits`),
    again: (request, person, refused) => show(frame, request, person, refused),
  }),
]

async function show(
  frame: DeskFrame,
  request: PublicRequest,
  { view, signed }: Person,
  refused?: { readonly error: string; readonly form: FieldReader },
): Promise<PublicAnswer> {
  const { id = '' } = request.params
  const file = uuidPattern.test(id) ? await frame.bankFiles.byId(frame.db, id) : undefined
  if (file === undefined) throw notFound('page')
  const read =
    file.sent === null ? await readReceivedFile(frame, request, file) : await readSentFile(frame, request, file)
  await frame.staff.recordFile(signed, { connector: file.connector, fileId: file.id, payments: paymentKeys(read) })
  const cases = await findCases(frame, file, read)
  const taking = {
    mayTake: frame.changes.mayDecide('bank file take', signed.account.role),
    waits: new URLSearchParams(request.query).has('waits'),
    error: refused?.error,
    typed: refused?.form ?? (() => ''),
  }
  return page(request, refused === undefined ? 200 : 400, filePage(view, { file, cases, ...read, ...taking }))
}

function readFilters({ query }: PublicRequest) {
  const fields = new URLSearchParams(query)
  const at = new Date(fields.get('at') ?? '')
  const id = fields.get('after') ?? ''
  const connector = fields.get('bank') || undefined
  const show = bankFileFilters.find((each) => each === fields.get('show')) ?? 'all'
  return { connector, show, after: uuidPattern.test(id) && !Number.isNaN(at.getTime()) ? { at, id } : undefined }
}

type FileRows = Omit<FileDetails, 'file' | 'cases'>
const noRows: FileRows = {
  ...{ statements: [], hasMoreStatements: false, statement: undefined, entries: [], payments: [], recalls: [] },
}

async function readReceivedFile(
  { bankFiles, db }: DeskFrame,
  { query }: PublicRequest,
  file: BankFileDetails,
): Promise<FileRows> {
  const fields = new URLSearchParams(query)
  const all = await bankFiles.statements(db, file.id, statementsShown + 1)
  const statements = all.slice(0, statementsShown)
  const statement = statements.find(({ id }) => id === fields.get('statement')) ?? statements[0]
  if (statement === undefined) return noRows
  const [position, id] = [fields.get('position') ?? '', fields.get('after') ?? '']
  const after = /^\d{1,15}$/.test(position) && uuidPattern.test(id) ? { position: BigInt(position), id } : undefined
  const rows = await bankFiles.entries(db, { file, statement }, { after, rowsMax: rowsShown + 1 })
  const entries = rows.slice(0, rowsShown)
  const last = rows.length > rowsShown ? entries.at(-1) : undefined
  const first = `${file.id}?statement=${statement.id}`
  return {
    ...noRows,
    ...{ statements, hasMoreStatements: all.length > statementsShown, statement, entries },
    next: last && `${first}&position=${last.position}&after=${last.id}`,
    first: after && first,
  }
}

async function readSentFile(
  { bankFiles, db }: DeskFrame,
  { query }: PublicRequest,
  file: BankFileDetails,
): Promise<FileRows> {
  const given = new URLSearchParams(query).get('after') ?? ''
  const after = uuidPattern.test(given) ? given : undefined
  const payments = await bankFiles.payments(db, file.id, after, rowsShown + 1)
  const recalls = payments.length > 0 ? [] : await bankFiles.recalls(db, file.id, after, rowsShown + 1)
  const rows = payments.length > 0 ? payments : recalls
  const last = rows.length > rowsShown ? rows[rowsShown - 1] : undefined
  return {
    ...noRows,
    payments: payments.slice(0, rowsShown),
    recalls: recalls.slice(0, rowsShown),
    next: last && `${file.id}?after=${last.id}`,
    first: after && file.id,
  }
}

/** Keys of the payments that the page shows, as `partnerId/id`. */
function paymentKeys({ entries, payments, recalls }: FileRows): readonly string[] {
  const keys = [
    ...entries.map(({ subjectId: id, subjectPartnerId: partnerId }) => ({ partnerId, id })),
    ...payments,
    ...recalls.map(({ partnerId, instructionId: id }) => ({ partnerId, id })),
  ]
  return keys.flatMap(({ partnerId, id }) =>
    id === null || partnerId === null || partnerId === operatorPartnerId ? [] : [`${partnerId}/${id}`],
  )
}

/** Reads the open cases about the file and the rows on the page, with one statement for each partner. */
async function findCases({ cases, db }: DeskFrame, file: BankFileDetails, read: FileRows): Promise<CasesBySubject> {
  const subjects = [
    { partnerId: operatorPartnerId, id: file.id },
    ...read.entries.map(({ id }) => ({ partnerId: operatorPartnerId, id })),
    ...paymentKeys(read).map((key) => {
      const [partnerId = '', id = ''] = key.split('/')
      return { partnerId, id }
    }),
  ]
  const found = new Map<string, CaseKey>()
  for (const [partnerId, some] of Map.groupBy(subjects, (each) => each.partnerId)) {
    const ids = some.map(({ id }) => id)
    for (const { subject, id, kind } of await cases.openAbout(db, partnerId, ids))
      found.set(subject, { partnerId, id, kind })
  }
  return found
}
