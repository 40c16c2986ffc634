/** Imports of payees and customers: the upload, the effect of each line, and the results. */
import { createHash } from 'node:crypto'
import type { Permission } from '@partner-payments/wire'
import { type PublicAnswer, type PublicRequest, type PublicRoute, Refusal } from '../../kernel/api/index.ts'
import type { UploadKind } from '../../people/users/index.ts'
import { html, type Html } from '../html.ts'
import { type FileColumns, readTable, type FileRow, spreadsheetText, decodeFile } from '../kit/csv.ts'
import { hiddenField, input, type FieldProblems, type FieldValues } from '../kit/forms.ts'
import { consoleMessagePage, type ConsoleView, shell } from '../kit/frame.ts'
import { readFormData } from '../kit/multipart.ts'
import { badge, linkButton, message, summaryStrip, table } from '../kit/parts.ts'
import {
  readId,
  pathWithQuery,
  page,
  queryText,
  readForm,
  readQuery,
  seeOther,
  pageStatus,
  withTimes,
} from '../kit/request.ts'
import { fill } from '../language.ts'
import { refusalText } from './bulk-check-page.ts'
import { csvDownload } from './bulk-drafts.ts'
import { inParallel } from './parallel.ts'
import { type Frame, type Person, type Routes, placeRoutes } from './request.ts'
import { texts } from './texts/index.ts'

/** Maximum rows of a file. Applying the import calls one operation for each. */
const importRowsMax = 2000
/** Maximum rows of a download. */
const exportRowsMax = 5000
const fileBytesMax = 4 * 1024 * 1024
const shownRowsMax = 200

type Effect = 'Create' | 'Change' | 'Same' | 'Refused'

/** The effect of a row. `fields`: the fields that it changes. `reason`: why it is refused. */
export type PlannedRow<Column extends string> = {
  readonly row: FileRow<Column>
  readonly effect: Effect
  /** The name of the payee or the customer. */
  readonly label: string
  readonly fields: readonly string[]
  readonly reason?: string
  /** Applies the row under its own idempotency key. Absent for a row without effect. */
  readonly apply?: (idempotencyKey: string) => Promise<void>
}

export type Importer<Column extends string> = {
  readonly kind: UploadKind
  readonly place: 'payees' | 'customers'
  readonly permissions: { readonly read: Permission; readonly write: Permission }
  /** The columns by their API names, in the order of the download. */
  readonly columns: FileColumns<Column>
  readonly required: readonly Column[]
  /** Determines the effect of each row without writing. */
  readonly plan: (
    frame: Frame,
    request: PublicRequest,
    person: Person,
    rows: readonly FileRow<Column>[],
  ) => Promise<readonly PlannedRow<Column>[]>
  /** Reads a page of the list as cells in the order of the columns. */
  readonly list: (
    frame: Frame,
    request: PublicRequest,
    person: Person,
    query: string,
  ) => Promise<{ readonly rows: readonly (readonly string[])[]; readonly nextCursor: string | null }>
}

type RowResult = { readonly line: number; readonly label: string; readonly effect: Effect; readonly reason: string }
/** `results`: absent until the import is applied. */
type ImportContent<Column extends string> = {
  readonly rows: readonly FileRow<Column>[]
  readonly results?: readonly RowResult[]
}

const columnNames = <Column extends string>({ columns }: Pick<Importer<Column>, 'columns'>) =>
  Object.keys(columns) as unknown as readonly Column[]

/** Renders the links from a list to its filtered download and to the import. */
export const importLinks = (
  view: ConsoleView,
  place: 'payees' | 'customers',
  values: FieldValues,
  mayWrite: boolean,
): Html => {
  const i = texts[view.language].imports
  return html`${linkButton(pathWithQuery(`${view.root}${place}/${place}.csv`, values), i.export)}
  ${mayWrite && linkButton(`${view.root}${place}/import`, i[place].open)}`
}

type ImportPage = { readonly place: 'payees' | 'customers'; readonly problems: FieldProblems }

export function newImportPage(view: ConsoleView, { place, problems }: ImportPage): string {
  const i = texts[view.language].imports
  const own = i[place]
  return shell(view, {
    title: own.title,
    problems,
    main: html`<h1>${own.title}</h1>
      <p class="lead">${own.lead} ${i.same}</p>
      <p class="buttons">${linkButton(`${view.root}${place}/import/template.csv`, i.template)}</p>
      <form class="card" method="post" action="${view.root}${place}/import" enctype="multipart/form-data">
        ${input(
          view,
          { values: {}, problems },
          {
            name: 'file',
            type: 'file',
            label: texts[view.language].bulk.file,
            help: fill(i.fileHelp, { count: importRowsMax.toLocaleString(view.language) }),
            more: html`accept=".csv,.txt,text/csv"`,
          },
        )}
        <button type="submit" class="primary">${i.check}</button>
      </form>
      <p class="foot"><a href="${view.root}${place}">${own.back}</a></p>`,
  })
}

type PlanPage = {
  readonly id: string
  readonly place: 'payees' | 'customers'
  readonly rows: readonly (RowResult & { readonly fields: readonly string[] })[]
  /** Absent: the import was applied, and the page shows the results. */
  readonly send?: { readonly revision: number; readonly seen: string }
  readonly problems: FieldProblems
}

const effects = ['Create', 'Change', 'Same', 'Refused'] as const
const tones = { Create: 'good', Change: 'warning', Same: 'neutral', Refused: 'bad' } as const

export function importPage(view: ConsoleView, { id, place, rows, send, problems }: PlanPage): string {
  const i = texts[view.language].imports
  const count = (n: number) => n.toLocaleString(view.language)
  const counts = Object.fromEntries(
    effects.map((effect) => [effect, rows.filter((row) => row.effect === effect).length]),
  ) as Record<Effect, number>
  const numbers = { created: count(counts.Create), changed: count(counts.Change), refused: count(counts.Refused) }
  const words = send === undefined ? i.results : i.effects
  // Refused rows come first, because the person must act on them.
  const ordered = rows.toSorted((one, other) => Number(other.effect === 'Refused') - Number(one.effect === 'Refused'))
  const cells = ordered
    .slice(0, shownRowsMax)
    .map((row): readonly (Html | string)[] => [
      String(row.line),
      row.label,
      badge(tones[row.effect], words[row.effect]),
      row.reason || (row.fields.length > 0 ? fill(i.changes, { fields: row.fields.join(', ') }) : ''),
    ])
  return shell(view, {
    title: i.checked,
    wide: true,
    problems,
    main: html`${send === undefined && message('good', fill(i.done, numbers))}
      <h1>${i[place].title}</h1>
      ${send !== undefined && html`<p class="lead">${i.checkedText}</p>`}
      ${summaryStrip(effects.map((effect) => [send === undefined ? i.results[effect] : i.counts[effect], count(counts[effect])]))}
      ${
        send !== undefined &&
        (counts.Create + counts.Change === 0
          ? html`<p>${i.nothing}</p>`
          : html`<form method="post" action="${view.root}${place}/import/${id}/apply" class="more">
              ${hiddenField('revision', String(send.revision))} ${hiddenField('seen', send.seen)}
              <button type="submit" class="primary">${fill(i.apply, numbers)}</button>
            </form>`)
      }
      ${rows.length > shownRowsMax && html`<p>${fill(i.shown, { shown: count(shownRowsMax), count: count(rows.length) })}</p>`}
      ${table({ caption: i.checked, columns: [[texts[view.language].bulk.line, 'head'], i.what, i.effect, i.details], rows: cells })}
      <p class="foot"><a href="${view.root}${place}">${i[place].back}</a></p>`,
  })
}

const rowResult = ({ row, label, effect, reason = '' }: PlannedRow<string>): RowResult => ({
  line: row.line,
  label,
  effect,
  reason,
})

/** Hashes everything that the page showed, to detect changes before the import is applied. */
const planHash = (planned: readonly PlannedRow<string>[]): string =>
  createHash('sha256')
    .update(JSON.stringify(planned.map(({ row, effect, fields, reason }) => [row, effect, fields, reason])))
    .digest('base64url')

/** Reads the rows of a file, or returns the text of the problem with it. */
async function readRows<Column extends string>(
  request: PublicRequest,
  { view }: Person,
  { columns, required }: Importer<Column>,
): Promise<readonly FileRow<Column>[] | string> {
  const [b, i] = [texts[view.language].bulk, texts[view.language].imports]
  const file = (await readFormData(request.body)).get('file')
  if (!(file instanceof File) || file.size === 0) return b.fileMissing
  const decoded = decodeFile(new Uint8Array(await file.arrayBuffer()))
  if (typeof decoded === 'string') return decoded === 'workbook' ? b.fileWorkbook : b.fileBinary
  const { named, rows, problems, isCut } = await readTable(decoded.text, columns, 2 * importRowsMax)
  if (!required.every((column) => named.has(column))) return fill(i.fileHeader, { columns: required.join(', ') })
  if (problems.length > 0) {
    const lines = problems.slice(0, namedLinesMax).map(({ line }) => line)
    return fill(i.fileRows, { lines: lines.join(', ') + (problems.length > lines.length ? ', …' : '') })
  }
  if (isCut || rows.length > importRowsMax)
    return fill(i.fileMany, { count: importRowsMax.toLocaleString(view.language) })
  return rows.length === 0 ? i.fileEmpty : rows
}

const namedLinesMax = 10

export function importRoutes<Column extends string>(importer: Importer<Column>): Routes {
  return (frame): readonly PublicRoute[] => {
    const { kind, place, permissions } = importer
    const route = placeRoutes(frame, frame.withMoney, place)
    const showNew = (request: PublicRequest, person: Person, problems: FieldProblems = {}): PublicAnswer =>
      page(request, pageStatus(problems), newImportPage(person.view, { place, problems }))
    const show = async (
      request: PublicRequest,
      person: Person,
      problems: FieldProblems = {},
    ): Promise<PublicAnswer> => {
      const { id, revision, content } = await frame.uploads.find<ImportContent<Column>>(person, kind, readId(request))
      if (content === undefined) return seeOther('../import')
      if (content.results !== undefined) {
        const rows = content.results.map((row) => ({ ...row, fields: [] }))
        return page(request, 200, importPage(person.view, { id, place, rows, problems }))
      }
      const planned = await importer.plan(frame, request, person, content.rows)
      const rows = planned.map((each) => ({ ...rowResult(each), fields: each.fields }))
      const shown = { id, place, rows, problems, send: { revision, seen: planHash(planned) } }
      return page(request, pageStatus(problems), importPage(person.view, shown))
    }
    const apply = async (request: PublicRequest, person: Person): Promise<PublicAnswer> => {
      const i = texts[person.view.language].imports
      const upload = await frame.uploads.find<ImportContent<Column>>(person, kind, readId(request))
      const { id, revision, content } = upload
      if (content === undefined || content.results !== undefined) return seeOther(`../${id}`)
      const planned = await importer.plan(frame, request, person, content.rows)
      const given = readForm(request)
      const isSeen = given('revision') === String(revision) && given('seen') === planHash(planned)
      const lease = isSeen ? await frame.uploads.lease(person, upload) : undefined
      if (lease === undefined) return show(request, person, { form: i.changed })
      const results = new Map<FileRow<Column>, RowResult>()
      try {
        await inParallel(planned, async (each) => {
          const refused = await catchRefusal(() => each.apply?.(`${id}-${each.row.line}`))
          const result = rowResult(each)
          const reason = refused && refusalText(person.view, refused)
          results.set(each.row, reason === undefined ? result : { ...result, effect: 'Refused', reason })
        })
      } finally {
        await frame.uploads.release(person, lease)
      }
      const done = planned.map((each) => results.get(each.row) ?? rowResult(each))
      await frame.uploads.replace(person, upload, { rows: [], results: done })
      return seeOther(`../${id}`)
    }
    return [
      route('GET', `/${place}.csv`, permissions.read, (_frame, request, person) =>
        exportList(frame, request, person, importer),
      ),
      route('GET', '/import', permissions.write, (_frame, request, person) => showNew(request, person)),
      route('GET', '/import/template.csv', permissions.write, (_frame, _request, { view }) =>
        csvDownload(`${place}.csv`, spreadsheetText(view.language, [columnNames(importer)])),
      ),
      {
        ...route('POST', '/import', permissions.write, async (_frame, request, person) => {
          const rows = await readRows(request, person, importer)
          if (typeof rows === 'string') return showNew(request, person, { file: rows })
          return seeOther(`import/${await frame.uploads.keep(person, kind, { rows })}`)
        }),
        bodyBytesMax: fileBytesMax,
      },
      route('GET', '/import/{id}', permissions.write, (_frame, request, person) => show(request, person)),
      route('POST', '/import/{id}/apply', permissions.write, (_frame, request, person) => apply(request, person)),
    ]
  }
}

async function catchRefusal(work: () => Promise<void> | undefined): Promise<Refusal | undefined> {
  try {
    await work()
    return undefined
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}

/** Sends the filtered list as a CSV file, or a page if it has too many rows. */
async function exportList<Column extends string>(
  frame: Frame,
  request: PublicRequest,
  person: Person,
  importer: Importer<Column>,
): Promise<PublicAnswer> {
  const { view } = person
  const i = texts[view.language].imports
  const values = readQuery(request, [...new URLSearchParams(request.query).keys()])
  const lines: (readonly string[])[] = [columnNames(importer)]
  let cursor: string | undefined
  do {
    const found = await importer.list(frame, request, person, queryText({ ...withTimes(values), cursor, limit: '100' }))
    lines.push(...found.rows)
    if (lines.length > exportRowsMax + 1) {
      const back = { href: pathWithQuery(`${view.root}${importer.place}`, values), label: i[importer.place].back }
      return page(
        request,
        400,
        consoleMessagePage(
          view,
          i.export,
          fill(i.tooMany, { count: exportRowsMax.toLocaleString(view.language) }),
          back,
        ),
      )
    }
    cursor = found.rows.length === 0 ? undefined : (found.nextCursor ?? undefined)
  } while (cursor !== undefined)
  return csvDownload(`${importer.place}.csv`, spreadsheetText(view.language, lines))
}
