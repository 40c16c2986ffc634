/**
 * The SQL statements of a source file. A statement is the text of an `sql` template together with the fragments in its
 * holes: nested templates, and constants and functions of the same file that hold templates.
 */
import { isTest, type Range, type Source, type Template } from './source.ts'

export type Statement = {
  readonly at: number
  /** The function or constant that it belongs to. */
  readonly name: string
  /**
   * Fragments are written out. A call of `ofPartners` or `ofOnePartner` is written as `partner_id = ${}`, the rows of an
   * `insertBy` as `partner_id`.
   */
  readonly text: string
  /** The reason to read the rows of all partners: the first argument of `acrossPartners` or `dueWork`. */
  readonly acrossPartners: string | undefined
}

type Binding = Range & { readonly name: string }

const within = (inner: number, { at, end }: Range): boolean => inner >= at && inner < end
const sqlIn = ({ templates }: Source): readonly Template[] => templates.filter(({ tag }) => tag === 'sql')

/** The end of the expression at `at`: a closing bracket, a comma, or a line end that no operator continues. */
function expressionEnd({ code, templates }: Source, at: number): number {
  const skips = new Map(templates.map((template) => [template.at, template.end]))
  let depth = 0
  for (let i = at; i < code.length; i += 1) {
    const char = code[i] ?? ''
    const skip = skips.get(i)
    if (skip !== undefined) i = skip - 1
    else if ('([{'.includes(char)) depth += 1
    else if (')]}'.includes(char)) depth -= 1
    if (depth < 0) return i
    if (depth > 0) continue
    if (char === ',') return i
    if (char === '\n' && !/(?:[=?:&|(,]|=>)\s*$/.test(code.slice(at - 1, i)) && !/^\s*[?:.&|]/.test(code.slice(i)))
      return i
  }
  return code.length
}

/** Constants, with their values, and functions, with their bodies. */
function readBindings(source: Source): readonly Binding[] {
  const declared = source.code.matchAll(/\bconst\s+(\w+)[^=\n]*=(?![=>])|\bfunction\s+(\w+)/g)
  return [...declared].map((match) => {
    const name = match[1] ?? match[2] ?? ''
    const after = match.index + match[0].length
    if (match[1] !== undefined) return { name, at: after, end: expressionEnd(source, after) }
    const close = /^\}/m.exec(source.code.slice(after))
    return { name, at: after, end: close ? after + close.index : source.code.length }
  })
}

const ofPartnersCall = /\bof(?:OnePartner|Partners)\s*\(/

/** The text of an expression: of its templates, of its calls of `ofPartners`, or of the binding that it names. */
function textOf(source: Source, range: Range, bindings: readonly Binding[], seen: readonly Binding[]): string {
  const templates = sqlIn(source).filter(
    (template) =>
      within(template.at, range) &&
      !sqlIn(source).some((outer) => outer !== template && within(outer.at, range) && within(template.at, outer)),
  )
  let plain = source.code.slice(range.at, range.end)
  for (const { at, end } of templates)
    plain = plain.slice(0, at - range.at) + ' '.repeat(end - at) + plain.slice(end - range.at)
  if (ofPartnersCall.test(plain)) return ' partner_id = ${} '
  if (templates.length > 0) return templates.map((template) => expand(source, template, bindings, seen)).join(' ')
  const name = /^\s*(\w+)\s*(?:\(|$)/.exec(plain)?.[1]
  const binding = bindings.findLast((each) => each.name === name && each.at < range.at && !seen.includes(each))
  if (binding === undefined) return '${}'
  if (/\binsertBy\b/.test(source.code.slice(binding.at, binding.end))) return ' partner_id '
  return textOf(source, binding, bindings, [...seen, binding])
}

function expand(
  source: Source,
  template: Template,
  bindings: readonly Binding[],
  seen: readonly Binding[] = [],
): string {
  const [first = '', ...rest] = template.text.split('${}')
  return rest.reduce((text, part, index) => {
    const hole = template.holes[index]
    return text + (hole ? textOf(source, hole, bindings, seen) : '${}') + part
  }, first)
}

/** A fragment is nested in a statement, or its name is used in holes of statements only. */
function isFragment(source: Source, template: Template, owner: Binding | undefined): boolean {
  const holes = sqlIn(source).flatMap((each) => each.holes)
  if (holes.some((hole) => within(template.at, hole))) return true
  if (owner === undefined || new RegExp(`\\bexport\\s[^\\n]*\\b${owner.name}\\b`).test(source.code)) return false
  const uses = [
    ...source.code.matchAll(new RegExp(`(?<!\\b(?:const|function)\\s+)\\b${owner.name}\\b(?!\\s*\\??:)`, 'g')),
  ]
  return uses.length > 0 && uses.every(({ index }) => holes.some((hole) => within(index, hole)))
}

/** The reason is blank in `code`: the capture has its length. */
const marker =
  /\b(?:acrossPartners|dueWork)\(\s*(['"])( *)\1\s*,\s*(?:\(whose\)\s*=>\s*)?(?:unprepared\(\s*)?sql(?:<[^>]*>)?$/

function markOf(source: Source, { at }: Template): string | undefined {
  const match = marker.exec(source.code.slice(0, at))
  if (!match) return undefined
  const from = source.text.indexOf(match[1] ?? '', match.index) + 1
  return source.text.slice(from, from + (match[2] ?? '').length)
}

/** Reports whether the parenthesis that opens before `from` encloses the parameters of an arrow function. */
function beginsArrow(code: string, from: number): boolean {
  let depth = 1
  let at = from
  for (; depth > 0 && at < code.length; at += 1) depth += code[at] === '(' ? 1 : code[at] === ')' ? -1 : 0
  return /^\s*(?::[^;]*?)?=>/.test(code.slice(at, at + 500))
}

/** The constant of the file that is the statement at a position, or else the function that was the last to begin above it. */
function nameAt(source: Source, at: number): string {
  const above = source.code.slice(0, at)
  const constant = /(?:^|\n)(?:export )?const (\w+) = (?:sql)?$/.exec(above)?.[1]
  if (constant !== undefined) return constant
  const starts = above.matchAll(/\bfunction\s+(\w+)|\b(\w+)\s*(?::|=)\s*(?:async\s*)?(?:<[^>]*>\s*)?\(/g)
  const last = [...starts].findLast(
    ({ 1: declared, 0: text, index }) => declared !== undefined || beginsArrow(source.code, index + text.length),
  )
  return last?.[1] ?? last?.[2] ?? '?'
}

export function readStatements(source: Source): readonly Statement[] {
  const bindings = readBindings(source)
  return sqlIn(source).flatMap((template) => {
    const owner = bindings.findLast((binding) => within(template.at, binding))
    if (isFragment(source, template, owner)) return []
    const text = expand(source, template, bindings)
    const name = nameAt(source, template.at)
    return [{ at: template.at, name, text, acrossPartners: markOf(source, template) }]
  })
}

export type PartnerScan = { readonly path: string; readonly name: string; readonly reason: string }

/** The statements that are marked with `acrossPartners` or `dueWork`. */
export const readPartnerScans = (sources: readonly Source[]): readonly PartnerScan[] =>
  sources
    .filter((source) => !isTest(source) && source.path.startsWith('service/src/'))
    .flatMap((source) =>
      readStatements(source).flatMap(({ name, acrossPartners: reason }) =>
        reason === undefined ? [] : [{ path: source.path, name, reason }],
      ),
    )
