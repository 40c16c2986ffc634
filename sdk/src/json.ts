/**
 * JSON with exact amounts. `JSON.parse` turns every number into a binary float; here the amounts of a shape, named by
 * their paths, are kept as the text that the service wrote. Node 20 has no source-text access in `JSON.parse`, hence the
 * walk over the tokens.
 */

/** Paths such as `amount` or `data.*.amount`; `*` is every item of an array. */
export type AmountPaths = readonly string[]

const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}]|[^\s,:[\]{}"]+/g

/** Throws a SyntaxError as `JSON.parse` does. */
export function parseExactly(text: string, amounts: AmountPaths): unknown {
  // The syntax is judged here; the walk below may then trust it.
  const parsed: unknown = JSON.parse(text)
  if (amounts.length === 0) return parsed
  const paths = new Set(amounts)
  const tokens = text.match(token) ?? []
  let at = 0
  const next = () => tokens[at++] ?? ''
  const isAt = (closing: string) => tokens[at] === closing
  const read = (path: string): unknown => {
    const first = next()
    if (first === '[') {
      const items: unknown[] = []
      while (!isAt(']')) items.push(read(below(path, '*')))
      at += 1
      return items
    }
    if (first === '{') {
      const object = {}
      while (!isAt('}')) {
        const name = JSON.parse(next()) as string
        // A definition, because an assignment to `__proto__` would change the prototype instead.
        define(object, name, read(below(path, name)))
      }
      at += 1
      return object
    }
    return paths.has(path) && /^[-\d]/.test(first) ? first : JSON.parse(first)
  }
  return read('')
}

const below = (path: string, name: string) => (path === '' ? name : `${path}.${name}`)

function define(object: object, name: string, value: unknown): void {
  Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
}

const decimal = /^-?(?:0|[1-9]\d*)(?:\.\d+)?$/

function amountLiteral(value: unknown, path: string): string {
  const text = typeof value === 'number' && Number.isFinite(value) ? String(value) : value
  if (typeof text === 'string' && (typeof value === 'number' || decimal.test(text))) return text
  throw new TypeError(`${path} is not a decimal such as '12.50'`)
}

/** As `JSON.stringify`, with each amount as the number literal that its text is. Throws a TypeError for another text. */
export function stringifyExactly(value: unknown, amounts: AmountPaths): string {
  const paths = new Set(amounts)
  const write = (each: unknown, path: string): string => {
    if (paths.has(path)) return amountLiteral(each, path)
    if (Array.isArray(each)) return `[${each.map((item) => write(item, below(path, '*'))).join(',')}]`
    if (typeof each !== 'object' || each === null || 'toJSON' in each) return JSON.stringify(each) ?? 'null'
    const fields = Object.entries(each).filter(([, field]) => field !== undefined)
    return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${write(field, below(path, name))}`).join(',')}}`
  }
  return write(value, '')
}
