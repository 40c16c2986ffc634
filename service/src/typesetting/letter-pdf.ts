/** A letter of one page or more: sender, recipient, subject, text, and a list of facts. */
import { createSheet, page, printable, type Sheet } from './sheet.ts'

type Letter = {
  readonly sender: readonly string[]
  readonly recipient: readonly string[]
  /** Place and date as printed in the letter. */
  readonly date: string
  readonly subject: string
  readonly paragraphs: readonly string[]
  readonly facts: readonly (readonly [label: string, value: string])[]
  readonly closing: readonly string[]
  /** The date in the document's metadata, which is not the time of the run. */
  readonly createdAt: Date
}

const size = 10
const lineHeight = 15
const width = page.width - page.left - page.right
const labelWidth = 150
const bottom = page.height - page.bottom - lineHeight

/** Writes a letter as PDF. The same letter gives the same bytes. */
export async function* letterPdf(letter: Letter): AsyncGenerator<Uint8Array> {
  const head = { title: letter.subject, issuer: letter.sender[0] ?? '', createdAt: letter.createdAt, tagged: true }
  const draft = await createSheet(head, undefined)
  draw(letter, draft)
  const sheet = await createSheet(head, draft.pages())
  draw(letter, sheet)
  yield* sheet.written()
  yield* sheet.end()
}

function draw({ sender, recipient, date, subject, paragraphs, facts, closing }: Letter, sheet: Sheet): void {
  let y: number = page.top
  const next = (height = lineHeight) => {
    y += height
    if (y <= bottom) return
    sheet.addPage()
    y = page.top
  }
  const line = (text: string, font: 'regular' | 'medium' = 'regular') => {
    sheet.text('P', printable(text), { font, size, x: page.left, y })
    next()
  }
  for (const [index, text] of sender.entries()) line(text, index === 0 ? 'medium' : 'regular')
  next(2 * lineHeight)
  for (const text of recipient) line(text)
  next(2 * lineHeight)
  line(date)
  next()
  sheet.text('H1', printable(subject), { font: 'bold', size: 13, x: page.left, y })
  next(2 * lineHeight)
  for (const paragraph of paragraphs) {
    for (const text of sheet.wrap(printable(paragraph), size, width)) line(text)
    next(lineHeight / 2)
  }
  for (const [label, value] of facts) {
    sheet.text('P', label, { font: 'regular', size, x: page.left, y, color: 'muted' })
    for (const text of sheet.wrap(printable(value), size, width - labelWidth)) {
      sheet.text('P', text, { font: 'medium', size, x: page.left + labelWidth, y })
      next()
    }
  }
  next()
  for (const text of closing) line(text)
}
