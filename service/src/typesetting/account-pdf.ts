/**
 * An account document: a header, a box of balances, and a table that repeats its header and carries the balance over on
 * each page.
 */
import { boldWidthRatio, createSheet, type DocumentBrand, markBox, page, printable, type Sheet } from './sheet.ts'

export type DocumentRow = {
  readonly date: string
  readonly text: string
  /** Detail in small print below the text. */
  readonly detail: string
  readonly amount: string
  /** Absent in a table without a running balance. */
  readonly balance?: string
}
export type DocumentSection = {
  readonly heading: string
  readonly box: readonly (readonly [label: string, value: string])[]
  readonly columns: { readonly amount: string; readonly balance?: string }
  /** Row before the first row, and row after the last row. */
  readonly opening?: readonly [label: string, value: string]
  readonly closing: readonly [label: string, value: string]
  readonly empty: string
  /** Called twice: to count the pages, and to write them. */
  readonly rows: () => AsyncIterable<readonly DocumentRow[]>
}
export type AccountDocument = {
  readonly title: string
  readonly issuer: string
  readonly facts: readonly (readonly [label: string, value: string])[]
  readonly sections: readonly DocumentSection[]
  readonly note: string
  /** The date in the document's metadata, which is not the time of the run. */
  readonly createdAt: Date
  /**
   * True for a tagged PDF, with the structure that a screen reader follows. The library keeps it in memory, about 25
   * kB for each row.
   */
  readonly tagged: boolean
  readonly brand?: DocumentBrand | undefined
}

const inner = page.width - page.left - page.right
/** The right edges of the number columns, and the edges of the text column. */
const columns = {
  date: page.left,
  text: page.left + 68,
  amountEnd: page.left + inner - 104,
  balanceEnd: page.left + inner,
}
const amountWidth = 104
const sizes = { title: 19, heading: 11, body: 9, small: 7.5 } as const
const heights = { head: 20, carried: 18, text: 13, detail: 10.5, rowGap: 7 } as const
const limit = page.height - page.bottom - heights.carried

/**
 * Draws in two passes, because each page shows the number of pages. The first pass places all rows without drawing and counts the
 * pages. The second pass places them in the same way and draws.
 */
export async function* accountPdf(document: AccountDocument): AsyncGenerator<Uint8Array> {
  const draft = await createSheet(document, undefined)
  for await (const _bytes of layOut(document, draft)) continue
  yield* layOut(document, await createSheet(document, draft.pages()))
}

async function* layOut(document: AccountDocument, sheet: Sheet): AsyncGenerator<Uint8Array> {
  let y = drawHead(document, sheet)
  for (const [index, section] of document.sections.entries()) {
    if (index > 0 && y > limit - 220) y = newPage(document, sheet)
    y = drawSectionHead(section, sheet, y)
    let balance = section.opening?.[1] ?? ''
    let drawn = 0
    for await (const part of section.rows()) {
      for (const row of part) {
        const details = sheet.wrap(printable(row.detail), sizes.small, textWidth(section))
        const height = heights.text + details.length * heights.detail + heights.rowGap
        if (y + height > limit) {
          if (section.opening) drawCarried(section, sheet, y, 'Carried forward', balance)
          y = drawTableHead(section, sheet, newPage(document, sheet))
          if (section.opening) y = drawCarried(section, sheet, y, 'Brought forward', balance)
        }
        drawRow(section, sheet, y, row, details)
        y += height
        drawn += 1
        balance = row.balance ?? balance
      }
      // Yields to other work between pages.
      yield* sheet.written()
      await new Promise((resolve) => setImmediate(resolve))
    }
    if (drawn === 0) y = drawEmpty(section, sheet, y)
    y = drawClosing(section, sheet, y)
  }
  sheet.paragraph(printable(document.note), sizes.small, page.left, y + 14, inner)
  yield* sheet.end()
}

const textWidth = ({ columns: { balance } }: DocumentSection) =>
  (balance === undefined ? columns.balanceEnd : columns.amountEnd) - amountWidth - 12 - columns.text

function drawHead({ title, issuer, facts, brand }: AccountDocument, sheet: Sheet): number {
  sheet.mark()
  sheet.text('H1', printable(title), { font: 'bold', size: sizes.title, x: page.left, y: page.top, color: 'accent' })
  let y = page.top + 30
  const issuerWidth = brand === undefined ? inner : inner - markBox.width - 16
  for (const line of sheet.wrap(printable(issuer), sizes.heading * boldWidthRatio, issuerWidth)) {
    sheet.text('P', line, { font: 'medium', size: sizes.heading, x: page.left, y })
    y += 16
  }
  y += 16
  sheet.rule(y - 8, brand?.accent === undefined ? 0.75 : 1.5, brand?.accent === undefined ? 'rule' : 'accent')
  for (const [label, value] of facts) {
    const lines = sheet.wrap(printable(value), sizes.body, inner - 110)
    sheet.text('P', label, { font: 'regular', size: sizes.body, x: page.left, y, color: 'muted' })
    for (const line of lines) {
      sheet.text('P', line, { font: 'medium', size: sizes.body, x: page.left + 110, y })
      y += 15
    }
  }
  return y + 10
}

function newPage({ title, issuer, facts }: AccountDocument, sheet: Sheet): number {
  sheet.addPage()
  const [, period = ''] = facts.at(-1) ?? []
  sheet.running(printable(`${issuer} · ${title}`), printable(period))
  return page.top + 26
}

function drawSectionHead(section: DocumentSection, sheet: Sheet, from: number): number {
  let y = from
  sheet.text('H2', section.heading, { font: 'bold', size: sizes.heading, x: page.left, y })
  y += 22
  const width = inner / section.box.length
  sheet.box(y, 44)
  section.box.forEach(([label, value], index) => {
    const x = page.left + width * index + 12
    const isLast = index === section.box.length - 1
    sheet.text('P', label, { font: 'regular', size: sizes.small, x, y: y + 9, color: 'muted' })
    sheet.text('P', value, { font: isLast || index === 0 ? 'bold' : 'medium', size: 10.5, x, y: y + 22 })
  })
  y = drawTableHead(section, sheet, y + 62)
  return section.opening ? drawCarried(section, sheet, y, ...section.opening) : y
}

function drawTableHead({ columns: { amount, balance } }: DocumentSection, sheet: Sheet, y: number): number {
  const style = { font: 'bold', size: sizes.small, y, color: 'muted' } as const
  sheet.beginTable()
  sheet.row(() => {
    sheet.text('TH', 'Date', { ...style, x: columns.date })
    sheet.text('TH', 'Details', { ...style, x: columns.text })
    if (balance === undefined) sheet.text('TH', amount, { ...style, end: columns.balanceEnd })
    else {
      sheet.text('TH', amount, { ...style, end: columns.amountEnd })
      sheet.text('TH', balance, { ...style, end: columns.balanceEnd })
    }
  })
  sheet.rule(y + 13, 0.75)
  return y + heights.head
}

function drawCarried(_section: DocumentSection, sheet: Sheet, y: number, label: string, value: string): number {
  sheet.row(() => {
    sheet.text('TD', label, { font: 'medium', size: sizes.body, x: columns.text, y })
    sheet.text('TD', value, { font: 'medium', size: sizes.body, end: columns.balanceEnd, y })
  })
  return y + heights.carried
}

function drawRow(
  { columns: { balance } }: DocumentSection,
  sheet: Sheet,
  y: number,
  row: DocumentRow,
  details: readonly string[],
): void {
  const style = { font: 'regular', size: sizes.body, y } as const
  sheet.row(() => {
    sheet.text('TD', row.date, { ...style, x: columns.date })
    sheet.cell(() => {
      sheet.text('P', printable(row.text), { ...style, x: columns.text })
      details.forEach((line, index) =>
        sheet.text('P', line, {
          font: 'regular',
          size: sizes.small,
          x: columns.text,
          y: y + heights.text + index * heights.detail,
          color: 'muted',
        }),
      )
    })
    const isCredit = !row.amount.startsWith('−')
    const end = balance === undefined ? columns.balanceEnd : columns.amountEnd
    sheet.text('TD', row.amount, { ...style, end, color: isCredit ? 'credit' : 'ink' })
    if (row.balance !== undefined) sheet.text('TD', row.balance, { ...style, end: columns.balanceEnd })
  })
  sheet.rule(y + heights.text + details.length * heights.detail + 2, 0.25)
}

function drawEmpty({ empty }: DocumentSection, sheet: Sheet, y: number): number {
  sheet.row(() => sheet.text('TD', empty, { font: 'regular', size: sizes.body, x: columns.text, y, color: 'muted' }))
  return y + heights.carried
}

/** Draws the closing row. The page limit leaves space for it. */
function drawClosing({ closing: [label, value] }: DocumentSection, sheet: Sheet, y: number): number {
  sheet.row(() => {
    sheet.text('TD', label, { font: 'bold', size: sizes.body, x: columns.text, y: y + 2 })
    sheet.text('TD', value, { font: 'bold', size: sizes.body, end: columns.balanceEnd, y: y + 2 })
  })
  sheet.endTable()
  return y + heights.carried
}
