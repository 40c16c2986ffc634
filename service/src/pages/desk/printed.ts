/**
 * Renders rows of command output for people, with grouped amounts, words instead of values, and links instead of ids.
 */
import { isCurrency, nilId } from '../../kernel/index.ts'
import { calendarDay, freeText, money, table, time } from '../kit/parts.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { html, type Html } from '../html.ts'
import { fill } from '../language.ts'
import { optionLabel } from './forms.ts'
import { customerHref, yesNo } from './parties.ts'
import { deskTexts } from './texts.ts'

export type PrintedValue = string | number | bigint | boolean | Date | null | undefined | readonly string[]
/** A row as the command prints it. */
export type PrintedRow = Readonly<Record<string, PrintedValue>>

/** Columns that contain an amount in the currency of the row. */
const amounts: ReadonlySet<string> = new Set([
  ...['posted', 'reserved', 'available', 'amount', 'fixed', 'min', 'max'],
  ...[
    'above',
    'aboveDay',
    'aboveBulk',
    'perPerson',
    'aboveAmount',
    'aboveDayAmount',
    'aboveBulkAmount',
    'perPersonAmount',
  ],
])
const numbers: ReadonlySet<string> = new Set(['basisPoints', 'beneficiaryHours', 'expiresHours', 'hours'])
/** Reports whether a column is right-aligned. */
export const isNumberColumn = (column: string): boolean => amounts.has(column) || numbers.has(column)

const timeForm = /^\d{4}-\d\d-\d\dT/
const dayForm = /^\d{4}-\d\d-\d\d$/
const listedMax = 6

/** Translates a value of a column. Names that a person entered are not translated. */
function valueText(view: ConsoleView, column: string, value: string): string {
  const words: Readonly<Record<string, string>> = deskTexts[view.language].values
  const [first = '', ...rest] = value.split('.')
  // A settlement account has the name of its bank or chain.
  if (column === 'account' && rest.length > 0)
    return (words[`account ${first}`] ?? value).replace('{name}', rest.join('.'))
  return words[`${column} ${value}`] ?? value
}

/** Formats a value of a row. `partnerId`: the partner of the row's customers. */
export function printedCell(view: ConsoleView, partnerId: string, row: PrintedRow, column: string): Html | string {
  const value = row[column]
  if (value === null || value === undefined || value === nilId) return '–'
  if (typeof value === 'boolean') return yesNo(view, value)
  if (value instanceof Date) return time(view, value)
  if (typeof value === 'object') {
    const words = value.map((each) => valueText(view, column, each))
    // People read the number of permissions. The title lists their names.
    if (column === 'permissions' && words.length > 1) {
      const count = fill(deskTexts[view.language].parties.permissions, { count: String(words.length) })
      return html`<span title="${words.join(', ')}">${count}</span>`
    }
    const named = `${words.slice(0, listedMax).join(', ')}${words.length > listedMax ? ', …' : ''}`
    return words.length === 0 ? '–' : html`<span title="${words.join(', ')}">${freeText(named)}</span>`
  }
  const text = String(value)
  const { currency } = row
  if (amounts.has(column) && typeof currency === 'string' && isCurrency(currency)) return money(view, text, currency)
  if (timeForm.test(text) && !Number.isNaN(Date.parse(text))) return time(view, new Date(text))
  if (dayForm.test(text)) return calendarDay(view, text)
  if (column === 'customerId') {
    const href = `${view.root}${customerHref(partnerId, text)}`
    return html`<a href="${href}">${deskTexts[view.language].parties.customer}</a>`
  }
  return freeText(valueText(view, column, text))
}

/** Builds a label for a row from its first texts, for a button that acts on it. */
export const rowLabel = (view: ConsoleView, columns: readonly string[], row: PrintedRow): string =>
  columns
    .flatMap((column) => {
      const value = row[column]
      return typeof value === 'string' && value !== nilId ? [valueText(view, column, value)] : []
    })
    .slice(0, 3)
    .join(' ')

export type PrintedLimit = PrintedRow & { readonly scopeId: string | null; readonly scope: string }

export const limitsTable = (view: ConsoleView, limits: readonly PrintedLimit[], caption: string): Html => {
  const columns = ['period', 'amount', 'allCurrencies'] as const
  return table({
    caption,
    columns: columns.map((column, at) => {
      const label = optionLabel(view, 'limit list', column)
      return at === 0 ? ([label, 'head'] as const) : column === 'amount' ? ([label, 'number'] as const) : label
    }),
    rows: limits.map((limit) => columns.map((column) => printedCell(view, '', limit, column))),
  })
}
