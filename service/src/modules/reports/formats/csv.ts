/** CSV by RFC 4180: UTF-8 without a byte order mark, CRLF, a header line. Numbers are never changed, so that a negative one stays. */
import type { Columns, Content, Row } from '../contents/content.ts'
import { csvCell } from '../../../kernel/index.ts'

const columnsOf = (columns: Columns) => Object.entries(columns).filter(([, type]) => type !== 'json')

/** Writes rows. The parts of a line are joined one by one: a list of cells for each line takes twice the time. */
function csvLines(columns: Columns): (rows: readonly Row[]) => string {
  const cells = columnsOf(columns).map(([name, type]) => ({ name, isText: type === 'text' }))
  return (rows) => {
    let text = ''
    for (const row of rows) {
      let separator = ''
      for (const { name, isText } of cells) {
        const value = row[name]
        text += separator
        separator = ','
        if (value !== undefined) text += isText ? csvCell(value) : value
      }
      text += '\r\n'
    }
    return text
  }
}

export async function* csv(content: Content, count: (rows: number) => void): AsyncGenerator<string> {
  const { columns } = content
  yield `${columnsOf(columns)
    .map(([name]) => name)
    .join(',')}\r\n`
  if (content.csvLines === undefined) {
    const lines = csvLines(columns)
    for await (const part of content.rows()) yield lines(part)
    return
  }
  let rows = 0
  for await (const part of content.csvLines()) {
    count((rows += part.rows))
    yield part.text
  }
}
