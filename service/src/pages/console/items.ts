/** The line items of a form: rows of fields, and a button that adds a row. Without a script, the server returns the form with one more row. */
import { decimalText, rawNumber, type ResponseOf } from '@partner-payments/wire'
import { html, type Html } from '../html.ts'
import { inputs, type FormState, type FieldValues } from '../kit/forms.ts'
import type { ConsoleView } from '../kit/frame.ts'
import { money, table } from '../kit/parts.ts'
import { type FieldReader, readAmount, readValues } from '../kit/request.ts'
import { fill } from '../language.ts'
import { texts } from './texts/index.ts'

const itemParts = ['name', 'quantity', 'amount'] as const
type ItemPart = (typeof itemParts)[number]
const fieldName = (index: number, part: ItemPart): string => `item${index}${part}`

/** Maximum rows of a form. The API accepts more items. */
const rowsMax = 20
const indexes = [...Array(rowsMax).keys()]
export const itemFields: readonly string[] = indexes.flatMap((index) => itemParts.map((part) => fieldName(index, part)))

/** Counts the rows to show: the used rows, and one more if the person pressed the button. */
const rowCount = ({ values }: FormState): number => {
  const used = indexes.findLast((index) => itemParts.some((part) => values[fieldName(index, part)] !== undefined)) ?? -1
  return Math.min(rowsMax, Math.max(1, used + 1) + (values['add'] === undefined ? 0 : 1))
}

export function itemInputs(view: ConsoleView, typed: FormState): Html {
  const c = texts[view.language].checkout
  const count = rowCount(typed)
  const cells = (index: number) =>
    itemParts.map((part) => ({
      name: fieldName(index, part),
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
type ReadItems = {
  readonly items: readonly Item[]
  readonly problems: Readonly<Record<string, string>>
  readonly sum: string | undefined
}

/** Reads the used rows. `sum`: the sum of the items with two decimals. */
export function readItems(view: ConsoleView, values: FieldValues): ReadItems {
  const c = texts[view.language].checkout
  const used = indexes.filter((index) => itemParts.some((part) => values[fieldName(index, part)] !== undefined))
  const problems: Record<string, string> = {}
  const items = used.flatMap((index): readonly Item[] => {
    const [name, quantityText = '1', amountText = ''] = itemParts.map((part) => values[fieldName(index, part)])
    const amount = readAmount(amountText)
    const isCount = /^[1-9]\d{0,4}$/u.test(quantityText)
    if (name === undefined) problems[fieldName(index, 'name')] = c.itemNameMissing
    if (!isCount) problems[fieldName(index, 'quantity')] = c.itemQuantityWrong
    if (amount === undefined) problems[fieldName(index, 'amount')] = c.itemAmountWrong
    if (name === undefined || !isCount || amount === undefined) return []
    return [{ name, quantity: Number(quantityText), amount: rawNumber(amount) }]
  })
  return { items, problems, sum: items.length === 0 ? undefined : sumItems(items) }
}

/** Adds in hundredths, because a double cannot represent every amount. */
function sumItems(items: readonly Item[]): string {
  const hundredths = items.reduce((sum, { amount }) => {
    const [whole = '0', decimals = ''] = decimalText(amount).split('.')
    return sum + BigInt(whole) * 100n + BigInt(decimals.padEnd(2, '0'))
  }, 0n)
  return `${hundredths / 100n}.${String(hundredths % 100n).padStart(2, '0')}`
}

/** Reads the fields of the items, and the button that adds a row. */
export const readItemValues = (given: FieldReader): FieldValues => readValues(given, [...itemFields, 'add'])

export type ItemRow = NonNullable<ResponseOf<'getPaymentLink'>['lineItems']>[number]

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
