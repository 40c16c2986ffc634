/** The line items of a form: some rows of fields, and a button that adds one. It works without a script: the form comes back with one more row. */
import { decimalText, rawNumber } from '@partner-payments/wire'
import { html, type Html } from '../html.ts'
import { inputs, type Typed, type Values } from '../kit/forms.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { money, table } from '../kit/parts.ts'
import { type Form, readAmount, valuesIn } from '../kit/request.ts'
import { fill } from '../language.ts'
import { texts } from './texts/index.ts'

const parts = ['name', 'quantity', 'amount'] as const
type Part = (typeof parts)[number]
const fieldOf = (index: number, part: Part): string => `item${index}${part}`

/** Rows of a form: further items come by the API. */
const rowsMax = 20
const indexes = [...Array(rowsMax).keys()]
export const itemFields: readonly string[] = indexes.flatMap((index) => parts.map((part) => fieldOf(index, part)))

/** The number of rows: those that were typed, and one more if the person asks for it. */
const rowsOf = ({ values }: Typed): number => {
  const used = indexes.findLast((index) => parts.some((part) => values[fieldOf(index, part)] !== undefined)) ?? -1
  return Math.min(rowsMax, Math.max(1, used + 1) + (values['add'] === undefined ? 0 : 1))
}

export function itemInputs(view: ConsoleView, typed: Typed): Html {
  const c = texts[view.language].checkout
  const count = rowsOf(typed)
  const cells = (index: number) =>
    parts.map((part) => ({
      name: fieldOf(index, part),
      label: fill(c.itemField, { what: c.itemParts[part], number: String(index + 1) }),
      optional: 'unmarked' as const,
    }))
  return html`<fieldset class="field">
    <legend>${c.items}</legend>
    <p class="help">${c.itemsHelp}</p>
    ${indexes.slice(0, count).map((index) => html`<div class="grid" data-row="${index}">${inputs(view, typed, cells(index))}</div>`)}
    ${
      count < rowsMax &&
      html`<p class="buttons">
        <button type="submit" name="add" value="1" formnovalidate data-add-row="${rowsMax}">${c.addItem}</button>
      </p>`
    }
  </fieldset>`
}

export type Item = { readonly name: string; readonly quantity: number; readonly amount: ReturnType<typeof rawNumber> }
type Read = {
  readonly items: readonly Item[]
  readonly problems: Readonly<Record<string, string>>
  readonly sum: string | undefined
}

/** Reads the rows in which something is typed. `sum`: of the items, in two decimals. */
export function readItems(view: ConsoleView, values: Values): Read {
  const c = texts[view.language].checkout
  const used = indexes.filter((index) => parts.some((part) => values[fieldOf(index, part)] !== undefined))
  const problems: Record<string, string> = {}
  const items = used.flatMap((index): readonly Item[] => {
    const [name, quantityText = '1', amountText = ''] = parts.map((part) => values[fieldOf(index, part)])
    const amount = readAmount(amountText)
    const isCount = /^[1-9]\d{0,4}$/u.test(quantityText)
    if (name === undefined) problems[fieldOf(index, 'name')] = c.itemNameMissing
    if (!isCount) problems[fieldOf(index, 'quantity')] = c.itemQuantityWrong
    if (amount === undefined) problems[fieldOf(index, 'amount')] = c.itemAmountWrong
    if (name === undefined || !isCount || amount === undefined) return []
    return [{ name, quantity: Number(quantityText), amount: rawNumber(amount) }]
  })
  return { items, problems, sum: items.length === 0 ? undefined : sumOf(items) }
}

/** Adds in hundredths, because a binary number does not hold every amount. */
function sumOf(items: readonly Item[]): string {
  const hundredths = items.reduce((sum, { amount }) => {
    const [whole = '0', decimals = ''] = decimalText(amount).split('.')
    return sum + BigInt(whole) * 100n + BigInt(decimals.padEnd(2, '0'))
  }, 0n)
  return `${hundredths / 100n}.${String(hundredths % 100n).padStart(2, '0')}`
}

/** Reads what was typed, with the button that was pressed. */
export const typedItems = (given: Form): Values => valuesIn(given, [...itemFields, 'add'])

export type ItemRow = { readonly name: string; readonly quantity: number; readonly amount: string }

export const itemTable = (view: ConsoleView, currency: string, rows: readonly ItemRow[]): Html => {
  const c = texts[view.language].checkout
  return table({
    caption: c.items,
    columns: [
      [c.itemParts.name, 'head'],
      [c.itemParts.quantity, 'number'],
      [c.itemParts.amount, 'number'],
    ],
    rows: rows.map(({ name, quantity, amount }) => [
      html`<span class="free">${name}</span>`,
      String(quantity),
      money(view, amount, currency),
    ]),
  })
}
