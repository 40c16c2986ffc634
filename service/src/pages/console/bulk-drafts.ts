/** The draft of a bulk: the upload is stored for its person, checked, corrected, and sent once. */
import { createHash } from 'node:crypto'
import { bulkPayouts, decimalText, rawNumber } from '@partner-payments/wire'
import { ifFound, notFound, type PublicAnswer, type PublicRequest, Refusal } from '../../kernel/api/index.ts'
import { after, amountText, isUuid, secondMs } from '../../kernel/index.ts'
import { addressOfFile, type CheckedBulk, type CheckedLine, lineKey, type TypedLine } from '../../payouts/bulk/index.ts'
import type { SendingLease, Upload } from '../../people/users/index.ts'
import { spreadsheetText } from '../kit/csv.ts'
import { readFormData } from '../kit/multipart.ts'
import type { FieldProblems } from '../kit/forms.ts'
import { consoleHeaders, readId, page, readForm, readQuery, seeOther, pageStatus } from '../kit/request.ts'
import { fill } from '../language.ts'
import {
  isBulkBlocked,
  type BulkDraft,
  checkBulkPage,
  draftDone,
  needsCorrection,
  isPossibleDuplicate,
  unverifiedPayees,
} from './bulk-check-page.ts'
import { type BulkFile, readBulkFile, templateCells, templateHead, replaceInvalidLines } from './bulk-file.ts'
import { type NewBulk, newBulkPage } from './bulk-new-page.ts'
import { inParallel } from './parallel.ts'
import { callOf, type Frame, type Person, refusalProblems, type Routes, placeRoutes } from './request.ts'
import { texts } from './texts/index.ts'

type Draft = Upload<BulkDraft>

/** Maximum size of a file: 1,000 lines with long texts. */
const fileBytesMax = 4 * 1024 * 1024
/** Maximum size of a correction form, percent-encoded. */
const formBytesMax = 512 * 1024

const showForm = (request: PublicRequest, { view }: Person, given: NewBulk): PublicAnswer =>
  page(request, pageStatus(given.problems), newBulkPage(view, given))

/** Explains why a file cannot be checked. */
function fileProblem(
  { view }: Person,
  file: Exclude<BulkFile, { readonly kind: 'lines' }>,
): Pick<NewBulk, 'problems' | 'rows' | 'mistakes'> {
  const b = texts[view.language].bulk
  const count = (n: number) => n.toLocaleString(view.language)
  if (file.kind === 'many')
    return {
      problems: { file: fill(b.fileMany, { count: file.isMore ? `> ${count(file.count)}` : count(file.count) }) },
    }
  if (file.kind === 'rows')
    return { problems: { file: fill(b.fileRows, { count: count(file.problems.length) }) }, rows: file.problems }
  if (file.kind === 'mistakes')
    return { problems: { file: fill(b.fileMistakes, { count: count(file.mistakes.length) }) }, mistakes: file.mistakes }
  if (file.kind === 'unreadable') {
    const { line, path, reason } = file
    return { problems: { file: fill(b.fileXml, { line: String(line), path, reason }) } }
  }
  const words = {
    workbook: b.fileWorkbook,
    binary: b.fileBinary,
    header: b.fileHeader,
    empty: b.fileEmpty,
  }
  return { problems: { file: words[file.code] } }
}

/** Returns the file's name in one line, as the API operation requires. */
const fileName = (file: File): string =>
  file.name
    .replaceAll(/\p{Cc}/gu, '')
    .trim()
    .slice(0, bulkPayouts.bulkNameCharsMax)
    .trim()
    .toWellFormed()

async function readUpload(request: PublicRequest) {
  const form = await readFormData(request.body)
  const file = form.get('file')
  const bytes = file instanceof File ? new Uint8Array(await file.arrayBuffer()) : new Uint8Array()
  const text = (name: string) => {
    const value = form.get(name)
    return typeof value === 'string' ? value : ''
  }
  const name = file instanceof File ? fileName(file) : ''
  return { bytes, name, text }
}

const today = ({ clock }: Frame): string => clock.now().toISOString().slice(0, 'YYYY-MM-DD'.length)

async function upload(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const b = texts[person.view.language].bulk
  const { bytes, name, text } = await readUpload(request)
  const given = text('mode')
  const mode = bulkPayouts.bulkModes.find((each) => each === given)
  if (mode === undefined)
    return showForm(request, person, {
      mode: given,
      problems: { mode: texts[person.view.language].payments.fieldRequired },
    })
  if (bytes.length === 0) return showForm(request, person, { mode, problems: { file: b.fileMissing } })
  const file = await readBulkFile(bytes, today(frame))
  if (file.kind !== 'lines') return showForm(request, person, { mode, ...fileProblem(person, file) })
  const { kind: _kind, ...read } = file
  const draft: BulkDraft = { mode, ...read, ...(name === '' ? {} : { name }) }
  const id = await frame.uploads.keep(person, 'Bulk', draft)
  const checked = await frame.bulkPayouts.check(person.caller, id, draft.lines)
  await verifyPayees(frame, request, person, checked)
  return seeOther(`drafts/${id}`)
}

/** Maximum number of names that one request verifies, and maximum time, because a scheme may need seconds for each. */
const verifiedAtOnce = 100
const verificationMsMax = 10 * secondMs

/** Verifies the names of new payees with their banks. A refused name stays unverified. */
async function verifyPayees(
  { operate, clock }: Frame,
  request: PublicRequest,
  person: Person,
  { newPayees }: CheckedBulk,
): Promise<void> {
  if (!person.caller.permissions.includes('beneficiaries:write')) return
  const call = callOf(person, request)
  const until = after(clock.now(), verificationMsMax)
  await inParallel(unverifiedPayees(newPayees).slice(0, verifiedAtOnce), async ({ name, fields: { iban = '' } }) => {
    if (clock.now() >= until) return
    await operate('createBeneficiaryVerification', { ...call, body: { name, iban } }).catch((error: unknown) => {
      if (!(error instanceof Refusal)) throw error
    })
  })
}

/** Runs an action on a draft. If the draft was sent, redirects to its bulk. */
async function withDraft(
  frame: Frame,
  request: PublicRequest,
  person: Person,
  act: (draft: Draft & { readonly content: BulkDraft }) => Promise<PublicAnswer>,
): Promise<PublicAnswer> {
  const id = readId(request)
  const draft = await ifFound(frame.uploads.find<BulkDraft>(person, 'Bulk', id))
  // A process that ended after it created the bulk has not stored the id in the draft, and the erasure of a customer
  // deletes drafts.
  const made =
    draft?.resultId ?? (isUuid(id) ? await frame.bulkPayouts.idByKey(person.caller.partnerId, id) : undefined)
  const up = request.path.endsWith(id) ? '../' : '../../'
  if (made === undefined && draft === undefined) throw notFound('draft')
  if (made !== undefined || draft?.content === undefined) return seeOther(`${up}${made ?? ''}`)
  return act({ ...draft, content: draft.content })
}

async function showDraft(
  frame: Frame,
  request: PublicRequest,
  person: Person,
  problems: FieldProblems = {},
): Promise<PublicAnswer> {
  return withDraft(frame, request, person, async ({ id, revision, content, expiresAt }) => {
    const checked = await frame.bulkPayouts.check(person.caller, id, content.lines)
    const query = readQuery(request, ['page', 'done'])
    const shown = {
      ...checked,
      id,
      revision,
      expiresAt,
      problems,
      mode: content.mode,
      messageId: content.messageId,
      mayWritePayees: person.caller.permissions.includes('beneficiaries:write'),
      page: Number.parseInt(query['page'] ?? '1', 10) || 1,
      done: draftDone.find((each) => each === query['done']),
    }
    return page(request, pageStatus(problems), checkBulkPage(person.view, shown))
  })
}

/**
 * Changes the lines of a draft if the page showed its current revision. `revision`: null for changes of single cells,
 * which apply to any revision.
 */
const changeLines = (
  frame: Frame,
  request: PublicRequest,
  person: Person,
  done: string,
  linesOf: (lines: readonly TypedLine[], checked: () => Promise<CheckedBulk>) => Promise<readonly TypedLine[]>,
  revision: string | null = readForm(request)('revision'),
): Promise<PublicAnswer> =>
  withDraft(frame, request, person, async (draft) => {
    const { id, content } = draft
    const b = texts[person.view.language].bulk
    const lines = await linesOf(content.lines, () => frame.bulkPayouts.check(person.caller, id, content.lines))
    const isSaved =
      (revision ?? String(draft.revision)) === String(draft.revision) &&
      (await frame.uploads.replace(person, draft, { ...content, lines }))
    return isSaved ? seeOther(`../${id}?done=${done}`) : showDraft(frame, request, person, { form: b.changed })
  })

/**
 * Applies the cells of the form, and removes lines that the person excludes. A chosen payee applies to all lines with
 * the same payee.
 */
function applyCorrections(lines: readonly TypedLine[], given: URLSearchParams): readonly TypedLine[] {
  const payeeKey = ({ cells: { amount: _a, currency, reference: _r, ...payee } }: TypedLine) =>
    JSON.stringify([payee, currency])
  const choices = new Map<string, string>()
  const typed = lines.flatMap((line) => {
    const name = (column: string) => `l${line.line}.${column}`
    if (given.get(name('leave')) === 'yes') return []
    const cells = Object.fromEntries(
      Object.entries(line.cells).map(([column, cell]) => [column, given.get(name(column))?.trim() ?? cell]),
    ) as TypedLine['cells']
    const choice = given.get(name('choice')) || line.choice
    const next = { ...line, cells, ...(choice === undefined ? {} : { choice }), ...keptFileData(line, cells) }
    if (choice !== undefined && choice !== '') choices.set(payeeKey(next), choice)
    return [next]
  })
  return typed.map((line) => {
    const choice = line.choice ?? choices.get(payeeKey(line))
    return choice === undefined ? line : { ...line, choice }
  })
}

/** Keeps the payee's data from a pain.001 unless the person changed the payee. */
function keptFileData({ file, cells }: TypedLine, next: TypedLine['cells']): Pick<TypedLine, 'file'> {
  if (file === undefined) return {}
  const isSame = (['name', 'iban', 'sortCode', 'routingNumber', 'accountNumber'] as const).every(
    (column) => cells[column] === next[column],
  )
  if (isSame) return { file }
  return { file: file.endToEndId === undefined ? {} : { endToEndId: file.endToEndId } }
}

async function replaceWrong(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const b = texts[person.view.language].bulk
  const { bytes, text } = await readUpload(request)
  if (bytes.length === 0) return showDraft(frame, request, person, { file: b.fileMissing })
  const file = await readBulkFile(bytes, today(frame))
  if (file.kind !== 'lines') return showDraft(frame, request, person, fileProblem(person, file).problems)
  return changeLines(
    frame,
    request,
    person,
    'replaced',
    async (lines, check) => {
      const wrong = new Set((await check()).lines.filter(needsCorrection).map(({ typed }) => typed.line))
      return replaceInvalidLines(lines, wrong, file.lines)
    },
    text('revision'),
  )
}

/** Sends the invalid lines as a CSV file with their problems. */
const wrongLines = (frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> =>
  withDraft(frame, request, person, async ({ id, content }) => {
    const { language } = person.view
    const b = texts[language].bulk
    const { lines } = await frame.bulkPayouts.check(person.caller, id, content.lines)
    const textOf = ({ mistakes, resolved }: CheckedLine) =>
      [
        ...mistakes.map(({ code }) => b.mistake[code]),
        ...(resolved?.kind === 'problem'
          ? [fill(b.payeeProblem[resolved.code], { currencies: (resolved.currencies ?? []).join(', ') })]
          : []),
        ...(resolved?.kind === 'question'
          ? resolved.options.map(({ name }) => fill(b.question.name, { name, given: '' })).slice(0, 1)
          : []),
      ].join(' ')
    const rows = lines.filter(needsCorrection).map((line) => [...templateCells(line.typed), textOf(line)])
    return csvDownload(
      `${b.bulk}.csv`,
      spreadsheetText(language, [[...templateHead(language), b.problemColumn], ...rows]),
    )
  })

export const csvDownload = (name: string, body: string): PublicAnswer => ({
  status: 200,
  headers: {
    ...consoleHeaders,
    'content-type': 'text/csv; charset=utf-8',
    'content-disposition': `attachment; filename="${name.toLowerCase().replaceAll(/[^a-z0-9.-]+/g, '-')}"`,
  },
  body,
})

/** Creates a draft from the payouts of a bulk that were not created. Each gets a new key, because none was paid. */
async function draftUnmade({ operate, uploads }: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const call = { ...callOf(person, request), params: { bulkId: readId(request) } }
  const [{ mode, name }, { data }] = [await operate('getBulkPayout', call), await operate('listBulkPayoutItems', call)]
  const lines = data.flatMap((item): readonly TypedLine[] => {
    if (item.status !== 'Refused' && item.status !== 'NotMade') return []
    const { beneficiaryId: payee, amount, currency, userReference: reference = '', endToEndId } = item
    const none = { name: '', iban: '', sortCode: '', routingNumber: '', accountNumber: '' }
    const cells = { ...none, payee, amount: decimalText(amount), currency, reference }
    return [{ line: item.position + 1, cells, ...(endToEndId === undefined ? {} : { file: { endToEndId } }) }]
  })
  const draft: BulkDraft = { mode, lines, ...(name === undefined ? {} : { name }) }
  return seeOther(`../drafts/${await uploads.keep(person, 'Bulk', draft)}`)
}

async function send(frame: Frame, request: PublicRequest, person: Person): Promise<PublicAnswer> {
  const b = texts[person.view.language].bulk
  const given = readForm(request)
  return withDraft(frame, request, person, async (draft) => {
    const { id, content } = draft
    const checked = await frame.bulkPayouts.check(person.caller, id, content.lines)
    const isSeen = given('revision') === String(draft.revision) && given('seen') === checked.seen
    if (
      !isSeen ||
      checked.lines.some(needsCorrection) ||
      isBulkBlocked(content.mode, checked.lines) ||
      checked.lines.length === 0
    )
      return showDraft(frame, request, person, { form: b.changed })
    const asks = checked.lines.some(isPossibleDuplicate) || checked.earlier.length > 0
    if (asks && given('again') !== 'yes') return showDraft(frame, request, person, { again: b.confirm })
    const lease = await frame.uploads.lease(person, draft)
    if (lease === undefined) return showDraft(frame, request, person, { form: b.sending })
    try {
      const made = await createBulk(frame, request, person, { id, content, checked, lease })
      return seeOther(`../../${made}?done=created`)
    } catch (error) {
      await frame.uploads.release(person, lease)
      if (!(error instanceof Refusal)) throw error
      return showDraft(frame, request, person, refusalProblems(texts[person.view.language].payments, error, []))
    }
  })
}

type BulkToSend = {
  readonly id: string
  readonly content: BulkDraft
  readonly checked: CheckedBulk
  readonly lease: SendingLease
}

/**
 * Creates the new payees and the bulk under idempotency keys of the draft, so that a retry after a crash creates
 * nothing twice.
 */
async function createBulk(
  { operate, uploads }: Frame,
  request: PublicRequest,
  person: Person,
  { id, content, checked, lease }: BulkToSend,
): Promise<string> {
  const call = callOf(person, request)
  const ids = new Map<string, string>()
  await inParallel(checked.newPayees, async ({ key, name, currency, fields, more }) => {
    const idempotencyKey = `${id}-${createHash('sha256').update(key).digest('hex')}`
    const body = { name, currency, ...fields, ...more }
    const made = await operate('createBeneficiary', { ...call, idempotencyKey, body })
    ids.set(key, made.id)
  })
  await completeAddresses({ operate }, call, checked)
  const payouts = checked.lines.flatMap(({ typed, read, resolved }) => {
    const beneficiaryId =
      resolved?.kind === 'saved'
        ? resolved.payee.id
        : resolved?.kind === 'new'
          ? ids.get(resolved.payee.key)
          : undefined
    if (read === undefined || beneficiaryId === undefined) return []
    const { amount, currency, reference } = read
    const own = { beneficiaryId, currency, idempotencyKey: lineKey(id, typed) }
    const { endToEndId } = typed.file ?? {}
    const named = { ...(reference === null ? {} : { reference }), ...(endToEndId === undefined ? {} : { endToEndId }) }
    return [{ ...own, amount: rawNumber(amountText(amount, currency)), ...named }]
  })
  const { mode, name } = content
  const body = { mode, idempotencyKey: id, payouts, ...(name === undefined ? {} : { name }) }
  const bulk = await operate('createBulkPayout', { ...call, body })
  await uploads.finish(person, lease, bulk.id)
  return bulk.id
}

/** Adds the addresses of a pain.001 to saved payees without one, as the API does. */
async function completeAddresses(
  { operate }: Pick<Frame, 'operate'>,
  call: ReturnType<typeof callOf>,
  { lines }: CheckedBulk,
): Promise<void> {
  if (!call.caller.permissions.includes('beneficiaries:write')) return
  const missing = lines.flatMap(({ resolved, typed: { file } }) => {
    const address =
      resolved?.kind === 'saved' && resolved.payee.address === null && file?.address !== undefined
        ? addressOfFile({ creditor: { address: file.address } })
        : undefined
    return resolved?.kind !== 'saved' || address === undefined ? [] : [[resolved.payee.id, address] as const]
  })
  await inParallel([...new Map(missing)], async ([id, address]) => {
    await operate('updateBeneficiary', { ...call, body: { id, address } })
  })
}

export const bulkDraftRoutes: Routes = (frame) => {
  const route = placeRoutes(frame, frame.withMoney, 'bulk-payouts')
  const write = 'payouts:write'
  const template = (_frame: Frame, _request: PublicRequest, { view }: Person) =>
    csvDownload(`${texts[view.language].bulk.bulk}.csv`, spreadsheetText(view.language, [templateHead(view.language)]))
  return [
    route('GET', '/new', write, (_frame, request, person) =>
      showForm(request, person, { mode: undefined, problems: {} }),
    ),
    route('GET', '/template.csv', write, template),
    { ...route('POST', '/new', write, upload), bodyBytesMax: fileBytesMax },
    route('POST', '/{id}/again', write, draftUnmade),
    route('GET', '/drafts/{id}', write, (_frame, request, person) => showDraft(frame, request, person)),
    {
      ...route('POST', '/drafts/{id}/correct', write, (_frame, request, person) =>
        changeLines(
          frame,
          request,
          person,
          'corrected',
          async (lines) => applyCorrections(lines, new URLSearchParams(request.body.toString('utf8'))),
          null,
        ),
      ),
      bodyBytesMax: formBytesMax,
    },
    { ...route('POST', '/drafts/{id}/replace', write, replaceWrong), bodyBytesMax: fileBytesMax },
    route('GET', '/drafts/{id}/wrong.csv', write, wrongLines),
    route('POST', '/drafts/{id}/leave-out', write, (_frame, request, person) =>
      changeLines(frame, request, person, 'corrected', async (lines, check) => {
        const refused = new Set(
          (await check()).lines.filter(({ refusal }) => refusal !== undefined).map(({ typed }) => typed.line),
        )
        return lines.filter(({ line }) => !refused.has(line))
      }),
    ),
    route('POST', '/drafts/{id}/verify', write, (_frame, request, person) =>
      withDraft(frame, request, person, async ({ id, content }) => {
        await verifyPayees(frame, request, person, await frame.bulkPayouts.check(person.caller, id, content.lines))
        return seeOther(`../${id}?done=verified`)
      }),
    ),
    route('POST', '/drafts/{id}/send', write, send),
    route('POST', '/drafts/{id}/discard', write, async (_frame, request, person) => {
      await frame.uploads.remove(person, 'Bulk', readId(request))
      return seeOther('../../../bulk-payouts')
    }),
  ]
}
