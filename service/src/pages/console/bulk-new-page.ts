/** The page that starts a bulk: the template, its columns, and the upload. */
import { html, type Html } from '../html.ts'
import { inputs, type FieldProblems } from '../kit/forms.ts'
import type { RowProblem } from '../kit/csv.ts'
import { type ConsoleView, shell } from '../kit/frame.ts'
import { facts, linkButton, section, table } from '../kit/parts.ts'
import type { UnsupportedRequest } from '../../payouts/bulk/index.ts'
import { fill } from '../language.ts'
import { columnName } from './bulk-file.ts'
import { texts } from './texts/index.ts'

export type NewBulk = {
  readonly mode: string | undefined
  readonly problems: FieldProblems
  /** Lines of the file that could not be split into columns. */
  readonly rows?: readonly RowProblem[] | undefined
  /** Payments of a pain.001 with features that payouts do not support. */
  readonly mistakes?: readonly (UnsupportedRequest & { readonly line: number })[] | undefined
}

const shownRowsMax = 100

const explainedColumns = [
  'name',
  'iban',
  'amount',
  'currency',
  'reference',
  'payee',
  'sortCode',
  'routingNumber',
  'accountNumber',
] as const

export function newBulkPage(view: ConsoleView, { mode, problems, rows = [], mistakes = [] }: NewBulk): string {
  const b = texts[view.language].bulk
  const modes = ['BestEffort', 'AllOrNothing'] as const
  return shell(view, {
    title: b.newBulk,
    problems,
    main: html`<h1>${b.newBulk}</h1>
      <p class="lead">${b.templateText}</p>
      <p class="buttons">${linkButton(`${view.root}bulk-payouts/template.csv`, b.template)}</p>
      <form class="card" method="post" action="${view.root}bulk-payouts/new" enctype="multipart/form-data">
        ${inputs(view, { values: {}, problems }, [
          {
            name: 'file',
            type: 'file',
            label: b.file,
            help: b.fileHelp,
            more: html`accept=".csv,.txt,text/csv,.xml,text/xml,application/xml"`,
          },
          {
            name: 'mode',
            label: b.mode,
            value: mode ?? 'BestEffort',
            choices: modes.map((value) => ({ value, label: b.modes[value], help: b.modeHelp[value] })),
          },
        ])}
        <button type="submit" class="primary">${b.check}</button>
      </form>
      ${rows.length + mistakes.length > 0 && rowTable(view, rows, mistakes)}
      ${section('columns', b.columnsTitle, columnTable(view))}
      <p class="foot"><a href="${view.root}bulk-payouts">${b.back}</a></p>`,
  })
}

function rowTable(view: ConsoleView, rows: readonly RowProblem[], mistakes: NonNullable<NewBulk['mistakes']>): Html {
  const b = texts[view.language].bulk
  return table({
    caption: b.problem,
    columns: [[b.line, 'head'], b.problem],
    rows: [
      ...rows.map(({ line, code }) => [String(line), b.rowProblem[code]]),
      ...mistakes.map(({ line, code, given }) => [String(line), fill(b.fileMistake[code], { given })]),
    ].slice(0, shownRowsMax),
  })
}

function columnTable(view: ConsoleView): Html {
  const b = texts[view.language].bulk
  return facts(explainedColumns.map((column) => [columnName(view.language, column), b.columnHelp[column]]))
}
