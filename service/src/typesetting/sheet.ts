/**
 * The pages of a document, drawn by pdfkit: positioned text with a role for screen readers, lines, and the running
 * header and footer of each page. A sheet that is created without a number of pages only counts pages.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** A4 in points, with its margins. */
export const page = { width: 595.28, height: 841.89, left: 48, right: 48, top: 48, bottom: 56 } as const
const colors = { ink: '#16202b', muted: '#5b6672', credit: '#0b6b3a', rule: '#c9d0d8', box: '#f3f5f8' } as const
/** `accent`: the colour of the brand, or `ink` without one. */
type Color = 'ink' | 'muted' | 'credit' | 'accent'

type PlacedText = {
  readonly font: FontName
  readonly size: number
  readonly y: number
  /** The left edge of the text. `end`: its right edge instead. */
  readonly x?: number
  readonly end?: number
  readonly color?: Color
}
type Role = 'H1' | 'H2' | 'P' | 'TH' | 'TD'

export type Sheet = {
  readonly text: (role: Role, text: string, placed: PlacedText) => void
  /** Draws a text that may wrap into several lines. */
  readonly paragraph: (text: string, size: number, x: number, y: number, width: number) => void
  readonly wrap: (text: string, size: number, width: number) => readonly string[]
  readonly beginTable: () => void
  readonly endTable: () => void
  readonly row: (draw: () => void) => void
  /** Draws a table cell with several texts. */
  readonly cell: (draw: () => void) => void
  readonly rule: (y: number, width: number, color?: 'rule' | 'accent') => void
  /** Draws the brand's logo at the top right, or its name without a logo. */
  readonly mark: () => void
  readonly box: (y: number, height: number) => void
  readonly addPage: () => void
  /** Sets the line at the top of the pages after the first. */
  readonly running: (left: string, right: string) => void
  readonly pages: () => number
  /** Returns the bytes that are ready. */
  readonly written: () => Iterable<Uint8Array>
  readonly end: () => AsyncIterable<Uint8Array>
}

type Head = {
  readonly title: string
  readonly issuer: string
  readonly createdAt: Date
  readonly tagged: boolean
  readonly brand?: DocumentBrand | undefined
  /** BCP 47. Default: British English. */
  readonly language?: string
}
type Pdf = PDFKit.PDFDocument
type Element = PDFKit.PDFStructureElement

async function openPdf({ title, issuer, createdAt, tagged, language = 'en-GB' }: Head): Promise<Pdf> {
  const { default: PDFDocument } = await import('pdfkit')
  const pdf = new PDFDocument({
    size: 'A4',
    margin: 0,
    // Otherwise the library reads a default font at each use of a font of the same name.
    font: null as unknown as string,
    lang: language,
    tagged,
    displayTitle: true,
    pdfVersion: '1.7',
    // The library's types do not list this value.
    ...(tagged ? { subset: 'PDF/UA' as unknown as 'PDF/A-1' } : {}),
    info: {
      Title: printable(title),
      Author: printable(issuer),
      CreationDate: createdAt,
      Producer: 'Partner Payments',
      Creator: 'Partner Payments',
    },
  })
  for (const name of fontNames) {
    pdf.registerFont(name, fontBytes(name)).font(name)
    simplify((pdf as unknown as { readonly _font: EmbeddedFont })._font)
  }
  return pdf
}

type Glyph = { readonly id: number; readonly advanceWidth: number; readonly codePoints: readonly number[] }
type Position = Readonly<Record<'xAdvance' | 'yAdvance' | 'xOffset' | 'yOffset' | 'advanceWidth', number>>
type EmbeddedFont = {
  readonly font: { readonly glyphForCodePoint: (codePoint: number) => Glyph }
  readonly scale: number
  layout: (text: string) => {
    readonly glyphs: readonly Glyph[]
    readonly positions: readonly Position[]
    readonly advanceWidth: number
  }
}

/**
 * Makes the library set one glyph per character, without ligatures and kerning. With these, a line takes a hundred
 * times as long, and the library caches every word, so that memory grows with the document. Latin, Greek and Cyrillic
 * text in composed form does not need them.
 */
function simplify(embedded: EmbeddedFont): void {
  const known = new Map<string, { readonly glyph: Glyph; readonly position: Position }>()
  const set = (character: string) => {
    const glyph = embedded.font.glyphForCodePoint(character.codePointAt(0) ?? 0)
    const advance = glyph.advanceWidth * embedded.scale
    const position = { xAdvance: advance, yAdvance: 0, xOffset: 0, yOffset: 0, advanceWidth: advance }
    known.set(character, { glyph, position })
    return { glyph, position }
  }
  embedded.layout = (text) => {
    const placed = Array.from(text, (character) => known.get(character) ?? set(character))
    return {
      glyphs: placed.map(({ glyph }) => glyph),
      positions: placed.map(({ position }) => position),
      advanceWidth: placed.reduce((total, { position }) => total + position.xAdvance, 0),
    }
  }
}

const nameSize = 12
/** Maximum width of bold text relative to regular text. Lines are measured in regular text. */
export const boldWidthRatio = 1.15

/** Creates a sheet. `pages` undefined: only counts the pages. */
export async function createSheet(head: Head, pages: number | undefined): Promise<Sheet> {
  const pdf = await openPdf(head)
  if (pages === undefined) return draftOf(pdf)
  const logo = head.brand?.logo
  return sheetOf(pdf, pages, head, logo && embed(pdf, logo))
}

type Image = PDFKit.Mixins.ImageSrc & { readonly embed: (pdf: Pdf) => void }

/** Embeds the image before the pages, so that objects have the same order in each run. */
function embed(pdf: Pdf, logo: Uint8Array): Image {
  const image = (pdf as unknown as { readonly openImage: (bytes: Buffer) => Image }).openImage(Buffer.from(logo))
  image.embed(pdf)
  return image
}

/** Wraps text by the widths of its characters, which do not depend on their neighbours because of `simplify`. */
const wrapIn = (pdf: Pdf) => {
  const known = new Map<string, number>()
  const widthOf = (character: string): number => {
    const width = known.get(character) ?? pdf.font('regular').fontSize(unitSize).widthOfString(character)
    known.set(character, width)
    return width
  }
  const sumOf = (text: string) => Array.from(text).reduce((sum, character) => sum + widthOf(character), 0)
  return (text: string, size: number, width: number): readonly string[] => {
    // Most texts fit, which an upper bound of the character width shows quickly.
    if (text.length * size * 0.95 <= width) return text === '' ? [] : [text]
    const limit = (width * unitSize) / size
    const lines: string[] = []
    let line = ''
    let used = 0
    for (const character of text) {
      const next = widthOf(character)
      if (used + next <= limit) {
        line += character
        used += next
        continue
      }
      // Breaks after a blank or a dash, or within a word that is longer than the line.
      const at = Math.max(line.lastIndexOf(' '), line.lastIndexOf('-'))
      const kept = at > line.length / 3 ? line.slice(0, at + 1) : line
      lines.push(kept.trimEnd())
      line = line.slice(kept.length) + character
      used = sumOf(line)
    }
    return [...lines, line]
  }
}
const unitSize = 1000

function draftOf(pdf: Pdf): Sheet {
  let pages = 1
  const nothing = () => undefined
  return {
    text: nothing,
    paragraph: nothing,
    wrap: wrapIn(pdf),
    beginTable: nothing,
    endTable: nothing,
    row: nothing,
    cell: nothing,
    rule: nothing,
    mark: nothing,
    box: nothing,
    addPage: () => void (pages += 1),
    running: nothing,
    pages: () => pages,
    written: () => [],
    end: async function* end() {},
  }
}

function sheetOf(pdf: Pdf, pages: number, { tagged, brand }: Head, logo: Image | undefined): Sheet {
  const inks = { ...colors, accent: brand?.accent ?? colors.ink }
  const ready: Uint8Array[] = []
  pdf.on('data', (bytes: Buffer) => ready.push(bytes))
  const ended = new Promise((resolve) => pdf.once('end', resolve))
  const tags = tagged ? createTags(pdf) : withoutTags
  let number = 1
  const take = () => ready.splice(0)
  const artifact = (draw: () => void) => {
    if (tagged) pdf.markContent('Artifact', { type: 'Layout' })
    draw()
    if (tagged) pdf.endMarkedContent()
  }
  const put = (text: string, { font, size, x, end, y, color = 'ink' }: PlacedText) => {
    pdf.font(font).fontSize(size).fillColor(inks[color])
    const left = end === undefined ? (x ?? page.left) : end - pdf.widthOfString(text)
    pdf.text(text, left, y, { lineBreak: false })
  }
  const footer = () =>
    artifact(() => {
      const y = page.height - page.bottom + 18
      put(`Page ${number} of ${pages}`, { font: 'regular', size: 7.5, end: page.width - page.right, y, color: 'muted' })
    })
  footer()
  return {
    ...tags,
    text: (role, text, placed) => tags.tagged(role, () => put(text, placed)),
    paragraph: (text, size, x, y, width) =>
      wrapIn(pdf)(text, size, width).forEach((line, index) =>
        tags.tagged('P', () => put(line, { font: 'regular', size, x, y: y + index * size * 1.4, color: 'muted' })),
      ),
    wrap: wrapIn(pdf),
    mark: () => artifact(() => drawMark(pdf, put, brand, logo)),
    rule: (y, width, color = 'rule') =>
      artifact(() =>
        pdf
          .moveTo(page.left, y)
          .lineTo(page.width - page.right, y)
          .lineWidth(width)
          .strokeColor(inks[color])
          .stroke(),
      ),
    box: (y, height) =>
      artifact(() => pdf.roundedRect(page.left, y, page.width - page.left - page.right, height, 3).fill(colors.box)),
    addPage: () => {
      tags.endTable()
      pdf.addPage()
      number += 1
      footer()
    },
    running: (left, right) =>
      artifact(() => {
        const style = { font: 'regular', size: 7.5, y: page.top - 8, color: 'muted' } as const
        put(left, { ...style, x: page.left })
        put(right, { ...style, end: page.width - page.right })
      }),
    pages: () => pages,
    written: take,
    end: async function* end() {
      tags.endDocument()
      pdf.end()
      await ended
      yield* take()
    },
  }
}

/** Draws the logo, or without a logo the name in up to three lines. */
function drawMark(
  pdf: Pdf,
  put: (text: string, placed: PlacedText) => void,
  brand: DocumentBrand | undefined,
  logo: Image | undefined,
): void {
  const end = page.width - page.right
  const { width, height } = markBox
  if (logo !== undefined) {
    pdf.image(logo, end - width, page.top, { fit: [width, height], align: 'right' })
    return
  }
  const lines = wrapIn(pdf)(printable(brand?.name ?? ''), nameSize * boldWidthRatio, width).slice(0, 3)
  for (const [index, line] of lines.entries()) {
    const y = page.top + 5 + index * nameSize * 1.3
    put(line, { font: 'bold', size: nameSize, color: 'accent', end, y })
  }
}

type Tags = Pick<Sheet, 'beginTable' | 'endTable' | 'row' | 'cell'> & {
  readonly tagged: (role: Role, draw: () => void) => void
  readonly endDocument: () => void
}
const withoutTags: Tags = {
  tagged: (_role, draw) => draw(),
  beginTable: () => undefined,
  endTable: () => undefined,
  endDocument: () => undefined,
  row: (draw) => draw(),
  cell: (draw) => draw(),
}

/** Creates the structure of the document, with a table for each page. */
function createTags(pdf: Pdf): Tags {
  const root = pdf.struct('Document')
  pdf.addStructure(root)
  let table: Element | undefined
  let row: Element | undefined
  let cell: Element | undefined
  const within = (parent: Element, role: string, draw: () => void) => {
    const made = pdf.struct(role, {}, draw)
    parent.add(made)
    made.end()
  }
  return {
    endDocument: () => {
      table?.end()
      root.end()
    },
    tagged: (role, draw) => within(cell ?? row ?? root, role, draw),
    beginTable: () => {
      table = pdf.struct('Table')
      root.add(table)
    },
    endTable: () => {
      table?.end()
      table = undefined
    },
    row: (draw) => {
      row = pdf.struct('TR')
      ;(table ?? root).add(row)
      draw()
      row.end()
      row = undefined
    },
    cell: (draw) => {
      cell = pdf.struct('TD')
      ;(row ?? root).add(cell)
      draw()
      cell.end()
      cell = undefined
    },
  }
}

// The mark of a brand at the top of a document: its logo, or its name without a logo.

export type DocumentBrand = {
  readonly name?: string | undefined
  /** `#rrggbb`, readable on white. */
  readonly accent?: string | undefined
  /** A PNG prepared by `branding`: the library would decode other images on the main thread, or end the process. */
  readonly logo?: Uint8Array | undefined
}

/** Size of the mark at the top right, as high as the title with the issuer. */
export const markBox = { width: 150, height: 42 } as const

// Noto Sans (SIL Open Font License): Latin, Greek and Cyrillic, with digits of equal width, so that columns of amounts align.

const files = {
  regular: '@expo-google-fonts/noto-sans/400Regular/NotoSans_400Regular.ttf',
  medium: '@expo-google-fonts/noto-sans/500Medium/NotoSans_500Medium.ttf',
  bold: '@expo-google-fonts/noto-sans/700Bold/NotoSans_700Bold.ttf',
} as const
type FontName = keyof typeof files
const fontNames = Object.keys(files) as readonly FontName[]

const loaded = new Map<FontName, Buffer>()

/** Reads a font once, for the first document that uses it. */
function fontBytes(name: FontName): Buffer {
  const known = loaded.get(name)
  if (known) return known
  const bytes = readFileSync(fileURLToPath(import.meta.resolve(files[name])))
  loaded.set(name, bytes)
  return bytes
}

/**
 * Replaces characters that the font lacks by a question mark instead of an empty box, and control characters by a space.
 */
const shown =
  /[^\u0020-\u007e\u00a0-\u024f\u0259\u02bb-\u02dd\u0370-\u03ff\u0400-\u04ff\u1e00-\u1eff\u1f00-\u1fff\u2010-\u2027\u202f-\u205e\u2070-\u209f\u20a0-\u20bf\u2212]/gu
const control = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu
export const printable = (text: string): string =>
  text.toWellFormed().normalize('NFC').replace(control, ' ').replace(shown, '?')
