/** Bulk payouts: the upload of a file is checked and previewed, and then sent by the operation. */
import { bulkPayouts, decimalText, rawNumber, type ResponseOf } from '@partner-payments/wire'
import type { PublicAnswer, PublicRequest } from '../../kernel/api/index.ts'
import { newId } from '../../kernel/index.ts'
import { fill } from '../language.ts'
import { type BulkFile, linesMax, readBulkFile, readParts, sumsOf, tooMany } from './bulk-csv.ts'
import {
  bulkPage,
  bulkPreviewPage,
  type BulkRow,
  bulksPage,
  itemFilters,
  newBulkPage,
  type Waiting,
} from './bulk-page.ts'
import {
  callOf,
  ifFound,
  type Problems,
  problemsOf,
  queryText,
  readList,
  readQuery,
  routesOf,
  statusOf,
} from './payments-request.ts'
import { type Frame, idOf, page, type Person, type Routes, seeOther } from './request.ts'
import { bulkTexts } from './texts/bulk.ts'
import { paymentTexts } from './texts/payments.ts'

/** A file of 10,000 lines with long references, so that its problems are listed. */
const fileBytesMax = 4 * 1024 * 1024
/** Payouts that the preview shows with the names of their payees. */
const previewedMax = 20

const rowOf = ({ createdAt, ...bulk }: ResponseOf<'getBulkPayout'>): BulkRow => ({
  ...bulk,
  createdAt: new Date(createdAt),
})

async function showList({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { data, shown } = await readList(request, person, [], (query) =>
    operate('listBulkPayouts', { ...callOf(person, request), query: queryText(query) }),
  )
  const mayWrite = person.caller.permissions.includes('payouts:write')
  const view = { ...person.view, current: 'bulk-payouts' }
  return page(request, 200, bulksPage(view, { ...shown, rows: data.map(rowOf), mayWrite }))
}

async function showOne({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const { view } = person
  const values = readQuery(request, itemFilters)
  const call = { ...callOf(person, request), params: { bulkId: idOf(request) } }
  const bulk = await operate('getBulkPayout', call)
  const items = await operate('listBulkPayoutItems', { ...call, query: queryText(values) }).catch((error: unknown) => ({
    data: [],
    problems: problemsOf(paymentTexts[view.language], error, itemFilters),
  }))
  const problems = 'problems' in items ? items.problems : {}
  const waiting = await operate('getBulkPayoutApproval', call)
  const shown = {
    ...rowOf(bulk),
    endedAt: bulk.endedAt === undefined ? undefined : new Date(bulk.endedAt),
    items: items.data.map(({ position, amount, currency, status, userReference, payoutId, problem }) => ({
      ...{ position, currency, status, reference: userReference, problem: problem?.detail },
      amount: decimalText(amount),
      payoutHref: payoutId && `${view.root}payouts/${payoutId}`,
    })),
    ...{ values, problems },
    waiting: waitingOf(waiting, person),
    done: readQuery(request, ['done'])['done'] === 'created' ? ('created' as const) : undefined,
  }
  return page(request, statusOf(problems), bulkPage({ ...view, current: 'bulk-payouts' }, shown))
}

/** Undefined: nothing waits. */
const waitingOf = (
  { payouts, totals, expiresAt }: ResponseOf<'getBulkPayoutApproval'>,
  { caller }: Person,
): Waiting | undefined =>
  expiresAt === undefined
    ? undefined
    : {
        payouts,
        totals: totals.map(({ amount, currency }) => ({ amount: decimalText(amount), currency })),
        expiresAt: new Date(expiresAt),
        may: caller.permissions.includes('payouts:write'),
      }

type Sent = { readonly mode: (typeof bulkPayouts.bulkModes)[number]; readonly csv: string; readonly file: BulkFile }

const showForm = (
  request: PublicRequest,
  { view }: Person,
  mode?: string,
  problems: Problems = {},
  inFile?: { readonly shown: BulkFile['problems']; readonly count: number },
): PublicAnswer => {
  return page(
    request,
    statusOf(problems),
    newBulkPage({ ...view, current: 'bulk-payouts' }, { mode, problems, inFile }),
  )
}

/** Reads the form with the file. A file with problems shows the form again, with the first of them. */
async function withFile(
  request: PublicRequest,
  person: Person,
  act: (sent: Sent, parts: ReadonlyMap<string, string>) => Promise<PublicAnswer>,
): Promise<PublicAnswer> {
  const b = bulkTexts[person.view.language]
  const parts = await readParts(request.body)
  const [csv, given] = [parts.get('file') ?? '', parts.get('mode')]
  const mode = bulkPayouts.bulkModes.find((each) => each === given)
  const refuse = (problem: string) => showForm(request, person, given, { file: problem })
  if (mode === undefined)
    return showForm(request, person, given, { mode: paymentTexts[person.view.language].fieldRequired })
  if (csv === '') return refuse(b.fileMissing)
  if (csv.includes('\uFFFD') || csv.includes('\0')) return refuse(b.fileNoText)
  const file = await readBulkFile(csv)
  const count = (n: number) => n.toLocaleString(person.view.language)
  if (file.isCut) return refuse(fill(b.fileMany, { count: `> ${count(linesMax)}` }))
  if (file.problemCount > 0) {
    const problems = { file: fill(b.fileWrong, { count: count(file.problemCount) }) }
    return showForm(request, person, mode, problems, { shown: file.problems, count: file.problemCount })
  }
  if (file.lines.length === 0) return refuse(b.fileEmpty)
  if (tooMany(file)) return refuse(fill(b.fileMany, { count: count(file.lines.length) }))
  return act({ mode, csv, file }, parts)
}

const preview = ({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> =>
  withFile(request, person, async ({ mode, csv, file }) => {
    const shown = file.lines.slice(0, previewedMax)
    const payees = await Promise.all(
      shown.map(({ beneficiaryId }) =>
        ifFound(operate('getBeneficiary', { ...callOf(person, request), params: { id: beneficiaryId } })),
      ),
    )
    const first = shown.map(({ amount, currency, reference }, at) => ({
      ...{ payee: payees[at]?.name, amount, currency, reference },
    }))
    const one = { mode, csv, idempotencyKey: newId(), payouts: file.lines.length, sums: sumsOf(file.lines), first }
    return page(request, 200, bulkPreviewPage({ ...person.view, current: 'bulk-payouts' }, one))
  })

const send = ({ operate }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> =>
  withFile(request, person, async ({ mode, file }, parts) => {
    const idempotencyKey = parts.get('idempotencyKey') || newId()
    const payouts = file.lines.map(({ amount, reference, ...line }, at) => ({
      ...line,
      amount: rawNumber(amount),
      ...(reference === '' ? {} : { reference }),
      // The place in the file: the same form that is sent twice pays once.
      idempotencyKey: `${idempotencyKey}-${at + 1}`,
    }))
    try {
      const body = { mode, idempotencyKey, payouts }
      const { id } = await operate('createBulkPayout', { ...callOf(person, request), body })
      return seeOther(`../${id}?done=created`)
    } catch (error) {
      return showForm(request, person, mode, problemsOf(paymentTexts[person.view.language], error, []))
    }
  })

export const bulkRoutes: Routes = (frame, _withPerson, withMoney) => {
  const route = routesOf(frame, withMoney, 'bulk-payouts')
  return [
    route('GET', '', 'payouts:read', showList),
    route('GET', '/new', 'payouts:write', (_frame, request, person) => showForm(request, person)),
    { ...route('POST', '/new/check', 'payouts:write', preview), bodyBytesMax: fileBytesMax },
    { ...route('POST', '/new/send', 'payouts:write', send), bodyBytesMax: fileBytesMax },
    route('GET', '/{id}', 'payouts:read', showOne),
  ]
}
