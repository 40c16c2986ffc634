/** The files of banks, and one file. Every role of staff reads them, and the log of the operator has who opened which file. */
import { notFound, type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import { operatorPartnerId } from '../../cases/index.ts'
import { type BankFileFacts, bankFileFilters } from '../../rails/index.ts'
import { type Form, page, readForm, seeOther, uuid } from '../kit/request.ts'
import type { CasesAbout, FileShown } from './file-contents.ts'
import { filePage, filesPage } from './file-pages.ts'
import { type DeskFrame, noteOf, type Person, staffRoute } from './request.ts'

const filesShown = 50
const rowsShown = 100
const statementsShown = 100

export const fileRoutes = (frame: DeskFrame): readonly PublicRoute[] => [
  staffRoute(frame, 'files', 'GET', '/files', async (request, { view }) => {
    const wanted = wantedOf(request)
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
  staffRoute(frame, 'files', 'POST', '/files/{id}/take', async (request, person) => {
    const { view, signed } = person
    if (signed.session.rested) return seeOther(`${view.root}sign-in`)
    const form = readForm(request)
    try {
      const about = { id: form('case'), note: noteOf(form) }
      await frame.changes.run(signed.account, 'bank file take', about)
      return seeOther(`../${request.params['id'] ?? ''}?waits`)
    } catch (error) {
      if (!(error instanceof Refusal) || error.code === 'permission_denied') throw error
      return show(frame, request, person, { error: error.detail, form })
    }
  }),
]

async function show(
  frame: DeskFrame,
  request: PublicRequest,
  { view, signed }: Person,
  refused?: { readonly error: string; readonly form: Form },
): Promise<PublicAnswer> {
  const { id = '' } = request.params
  const file = uuid.test(id) ? await frame.bankFiles.byId(frame.db, id) : undefined
  if (file === undefined) throw notFound('page')
  const read = file.sent === null ? await received(frame, request, file) : await sent(frame, request, file)
  await frame.staff.recordFile(signed, { connector: file.connector, fileId: file.id, payments: paymentsOf(read) })
  const cases = await casesAbout(frame, file, read)
  const taking = {
    mayTake: frame.changes.mayDecide('bank file take', signed.account.role),
    waits: new URLSearchParams(request.query).has('waits'),
    error: refused?.error,
    typed: refused?.form ?? (() => ''),
  }
  return page(request, refused === undefined ? 200 : 400, filePage(view, { file, cases, ...read, ...taking }))
}

function wantedOf({ query }: PublicRequest) {
  const fields = new URLSearchParams(query)
  const at = new Date(fields.get('at') ?? '')
  const id = fields.get('after') ?? ''
  const connector = fields.get('bank') || undefined
  const show = bankFileFilters.find((each) => each === fields.get('show')) ?? 'all'
  return { connector, show, after: uuid.test(id) && !Number.isNaN(at.getTime()) ? { at, id } : undefined }
}

type Read = Omit<FileShown, 'file' | 'cases'>
const nothing: Read = {
  ...{ statements: [], hasMoreStatements: false, statement: undefined, entries: [], payments: [], recalls: [] },
}

async function received({ bankFiles, db }: DeskFrame, { query }: PublicRequest, file: BankFileFacts): Promise<Read> {
  const fields = new URLSearchParams(query)
  const all = await bankFiles.statements(db, file.id, statementsShown + 1)
  const statements = all.slice(0, statementsShown)
  const statement = statements.find(({ id }) => id === fields.get('statement')) ?? statements[0]
  if (statement === undefined) return nothing
  const [position, id] = [fields.get('position') ?? '', fields.get('after') ?? '']
  const after = /^\d{1,15}$/.test(position) && uuid.test(id) ? { position: BigInt(position), id } : undefined
  const rows = await bankFiles.entries(db, { file, statement }, { after, rowsMax: rowsShown + 1 })
  const entries = rows.slice(0, rowsShown)
  const last = rows.length > rowsShown ? entries.at(-1) : undefined
  const first = `${file.id}?statement=${statement.id}`
  return {
    ...nothing,
    ...{ statements, hasMoreStatements: all.length > statementsShown, statement, entries },
    next: last && `${first}&position=${last.position}&after=${last.id}`,
    first: after && first,
  }
}

async function sent({ bankFiles, db }: DeskFrame, { query }: PublicRequest, file: BankFileFacts): Promise<Read> {
  const given = new URLSearchParams(query).get('after') ?? ''
  const after = uuid.test(given) ? given : undefined
  const payments = await bankFiles.payments(db, file.id, after, rowsShown + 1)
  const recalls = payments.length > 0 ? [] : await bankFiles.recalls(db, file.id, after, rowsShown + 1)
  const rows = payments.length > 0 ? payments : recalls
  const last = rows.length > rowsShown ? rows[rowsShown - 1] : undefined
  return {
    ...nothing,
    payments: payments.slice(0, rowsShown),
    recalls: recalls.slice(0, rowsShown),
    next: last && `${file.id}?after=${last.id}`,
    first: after && file.id,
  }
}

/** The payments that the page shows, each with its partner. */
function paymentsOf({ entries, payments, recalls }: Read): readonly string[] {
  const keys = [
    ...entries.map(({ subjectId: id, subjectPartnerId: partnerId }) => ({ partnerId, id })),
    ...payments,
    ...recalls.map(({ partnerId, instructionId: id }) => ({ partnerId, id })),
  ]
  return keys.flatMap(({ partnerId, id }) =>
    id === null || partnerId === null || partnerId === operatorPartnerId ? [] : [`${partnerId}/${id}`],
  )
}

/** The open cases about the file and what the page shows of it: one statement for each partner on the page. */
async function casesAbout({ cases, db }: DeskFrame, file: BankFileFacts, read: Read): Promise<CasesAbout> {
  const subjects = [
    { partnerId: operatorPartnerId, id: file.id },
    ...read.entries.map(({ id }) => ({ partnerId: operatorPartnerId, id })),
    ...paymentsOf(read).map((key) => {
      const [partnerId = '', id = ''] = key.split('/')
      return { partnerId, id }
    }),
  ]
  const found = new Map<string, { readonly partnerId: string; readonly id: string; readonly kind: string }>()
  for (const [partnerId, some] of Map.groupBy(subjects, (each) => each.partnerId)) {
    const ids = some.map(({ id }) => id)
    for (const { subject, id, kind } of await cases.openAbout(db, partnerId, ids))
      found.set(subject, { partnerId, id, kind })
  }
  return found
}
