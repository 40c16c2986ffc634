/** JSON lines: one object for each record, UTF-8, line feed. Numbers are exact decimals; a column without a value is absent. */
import type { Columns, Content, Row } from '../contents/content.ts'

function jsonLines(columns: Columns): (rows: readonly Row[]) => string {
  const whole = Object.entries(columns).find(([, type]) => type === 'json')?.[0]
  const fields = Object.entries(columns).map(([name, type]) => ({ name, key: `"${name}":`, type }))
  return (rows) => {
    let text = ''
    for (const row of rows) {
      const json = whole === undefined ? undefined : row[whole]
      if (json !== undefined) {
        text += `${json}\n`
        continue
      }
      let separator = '{'
      for (const { name, key, type } of fields) {
        const value = row[name]
        if (value === undefined || value === '') continue
        text += separator + key + (type === 'number' ? value : JSON.stringify(value))
        separator = ','
      }
      text += '}\n'
    }
    return text
  }
}

export async function* jsonl({ columns, rows }: Content): AsyncGenerator<string> {
  const lines = jsonLines(columns)
  for await (const part of rows()) yield lines(part)
}
