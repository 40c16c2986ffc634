/**
 * JSON with exact amounts. `JSON.parse` converts every number to a binary float. Here the numbers at the given paths are
 * kept as text. The parser reads tokens, because `JSON.parse` of Node 20 has no access to the source text.
 */

/** Paths such as `amount` or `data.*.amount`; `*` stands for every item of an array. */
export type AmountPaths = readonly string[]

const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}]|[^\s,:[\]{}"]+/g

/** Parses JSON and keeps the numbers at the paths `amounts` as text. Throws a SyntaxError as `JSON.parse` does. */
export function parseExactly(text: string, amounts: AmountPaths): unknown {
  // JSON.parse checks the syntax, so the token reader below need not.
  const parsed: unknown = JSON.parse(text)
  if (amounts.length === 0) return parsed
  const paths = new Set(amounts)
  const tokens = text.match(token) ?? []
  let position = 0
  const next = () => tokens[position++] ?? ''
  const isNext = (closing: string) => tokens[position] === closing
  const read = (path: string): unknown => {
    const first = next()
    if (first === '[') {
      const items: unknown[] = []
      while (!isNext(']')) items.push(read(childPath(path, '*')))
      position += 1
      return items
    }
    if (first === '{') {
      const object = {}
      while (!isNext('}')) {
        const name = JSON.parse(next()) as string
        // Not an assignment, because an assignment to `__proto__` changes the prototype.
        defineField(object, name, read(childPath(path, name)))
      }
      position += 1
      return object
    }
    return paths.has(path) && /^[-\d]/.test(first) ? first : JSON.parse(first)
  }
  return read('')
}

const childPath = (path: string, name: string) => (path === '' ? name : `${path}.${name}`)

function defineField(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
}

const decimal = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/

function amountLiteral(value: unknown, path: string): string {
  const text = typeof value === 'number' && Number.isFinite(value) ? String(value) : value
  if (typeof text === 'string' && (typeof value === 'number' || decimal.test(text))) return text
  throw new TypeError(`${path} is not a decimal such as '12.50'`)
}

/** Like `JSON.stringify`, but writes each amount as a number literal. Throws a TypeError if it is not a decimal. */
export function stringifyExactly(value: unknown, amounts: AmountPaths): string {
  const paths = new Set(amounts)
  const write = (each: unknown, path: string): string => {
    if (paths.has(path)) return amountLiteral(each, path)
    if (Array.isArray(each)) return `[${each.map((item) => write(item, childPath(path, '*'))).join(',')}]`
    if (typeof each !== 'object' || each === null || 'toJSON' in each) return JSON.stringify(each) ?? 'null'
    const fields = Object.entries(each).filter(([, field]) => field !== undefined)
    return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${write(field, childPath(path, name))}`).join(',')}}`
  }
  return write(value, '')
}
