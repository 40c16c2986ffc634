/** A receipt: the brand, the payment, and tables with amounts in the last column. */
import { boldWidthRatio, createSheet, type DocumentBrand, markBox, page, printable, type Sheet } from './sheet.ts'

export type ReceiptDocument = {
  readonly title: string
  readonly issuer: string
  /** BCP 47. */
  readonly language: string
  readonly lead: readonly string[]
  readonly facts: readonly (readonly [label: string, value: string])[]
  /** A row has a text, a short text and an amount. */
  readonly tables: readonly {
    readonly heads: readonly [string, string, string]
    readonly rows: readonly (readonly [string, string, string])[]
  }[]
  readonly note: string | undefined
  /** The date in the document's metadata, which is not the time of the run. */
  readonly createdAt: Date
  readonly brand: DocumentBrand | undefined
}

const size = 10
const lineHeight = 15
const width = page.width - page.left - page.right
const labelWidth = 150
const ends = { middle: page.width - page.right - 120, amount: page.width - page.right } as const
const bottom = page.height - page.bottom - lineHeight

const rowsAtOnce = 10

/** Writes a receipt as PDF. The same receipt gives the same bytes. */
export async function* receiptPdf(receipt: ReceiptDocument): AsyncGenerator<Uint8Array> {
  const head = { ...receipt, tagged: true }
  const draft = await createSheet(head, undefined)
  await draw(receipt, draft)
  const sheet = await createSheet(head, draft.pages())
  await draw(receipt, sheet)
  yield* sheet.end()
}

async function draw({ title, issuer, lead, facts, tables, note }: ReceiptDocument, sheet: Sheet): Promise<void> {
  let y: number = page.top
  const next = (height = lineHeight) => {
    y += height
    if (y <= bottom) return
    sheet.addPage()
    y = page.top
  }
  const lines = (text: string, x: number, within: number, font: 'regular' | 'medium' = 'regular') => {
    for (const line of sheet.wrap(printable(text), size * boldWidthRatio, within)) {
      sheet.text('P', line, { font, size, x, y })
      next()
    }
  }
  sheet.mark()
  sheet.text('H1', printable(title), { font: 'bold', size: 19, x: page.left, y, color: 'accent' })
  next(2 * lineHeight)
  lines(issuer, page.left, width - markBox.width - 16, 'medium')
  next()
  sheet.rule(y - 8, 1.5, 'accent')
  for (const text of lead) lines(text, page.left, width)
  next()
  for (const [label, value] of facts) {
    sheet.text('P', printable(label), { font: 'regular', size, x: page.left, y, color: 'muted' })
    lines(value, page.left + labelWidth, width - labelWidth, 'medium')
  }
  for (const { heads, rows } of tables) {
    next(2 * lineHeight)
    await drawTable(sheet, heads, rows, { at: () => y, next })
  }
  if (note !== undefined) {
    next()
    lines(note, page.left, width)
  }
}

async function drawTable(
  sheet: Sheet,
  heads: readonly [string, string, string],
  rows: readonly (readonly [string, string, string])[],
  { at, next }: { readonly at: () => number; readonly next: (height?: number) => void },
): Promise<void> {
  const row = (role: 'TH' | 'TD', [text, middle, amount]: readonly [string, string, string]) => {
    const [first = '', ...more] = sheet.wrap(printable(text), size * boldWidthRatio, ends.middle - page.left - 90)
    const font = role === 'TH' ? 'bold' : 'regular'
    sheet.row(() => {
      sheet.text(role, first, { font, size, x: page.left, y: at() })
      sheet.text(role, printable(middle), { font, size, end: ends.middle, y: at() })
      sheet.text(role, printable(amount), { font, size, end: ends.amount, y: at() })
    })
    next()
    for (const line of more) {
      sheet.row(() => sheet.text(role, line, { font, size, x: page.left, y: at() }))
      next()
    }
    sheet.rule(at(), 0.25)
    next(5)
  }
  sheet.beginTable()
  row('TH', heads)
  for (const [index, each] of rows.entries()) {
    // Yields to other work, because anyone with the link of a payment can request its receipt.
    if (index % rowsAtOnce === 0) await new Promise((resolve) => setImmediate(resolve))
    row('TD', each)
  }
  sheet.endTable()
}
