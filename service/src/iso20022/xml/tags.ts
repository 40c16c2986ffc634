/** Reads tags: names, attributes and namespaces. A tag is cached by its text within the scope of its namespaces. */

export type XmlTag = {
  /** The text between `<` and `>`, and the scope in which it was read. */
  readonly raw: string
  readonly scope: NamespaceScope
  /** The tag that last followed this one. It usually follows again, and a comparison is faster than a look-up. */
  next: XmlTag | undefined
  /** The name with its prefix, as the end tag repeats it. */
  readonly qualified: string
  readonly local: string
  readonly namespace: string
  readonly attributes: ReadonlyMap<string, string> | undefined
  readonly isEmpty: boolean
}

/** The namespaces of an element and of its descendants that do not declare namespaces. */
export type NamespaceScope = {
  readonly namespaces: ReadonlyMap<string, string>
  readonly tags: Map<string, XmlTag>
  /** The number of open elements around the one that declared the namespaces. */
  readonly depth: number
}

export const rootScope = (): NamespaceScope => ({
  namespaces: new Map([
    ['', ''],
    ['xml', 'http://www.w3.org/XML/1998/namespace'],
  ]),
  tags: new Map(),
  depth: 0,
})

/** Limits the cached tags, so that a hostile message cannot fill the memory. */
const tagsMax = 1000

/** XML 1.0, section 2.3, without the colon. */
const nameStart = String.raw`A-Z_a-z\xc0-\xd6\xd8-\xf6\xf8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\u{10000}-\u{effff}`
const namePart = String.raw`[${nameStart}][${nameStart}\-.0-9\xb7\u0300-\u036f\u203f\u2040]*`
const qualifiedName = String.raw`(?:${namePart}:)?${namePart}`
const tagNameForm = new RegExp(`^(${qualifiedName})(?=[ \\t\\n/]|$)`, 'u')
const attribute = new RegExp(String.raw`[ \t\n]+(${qualifiedName})[ \t\n]*=[ \t\n]*(?:"([^<"]*)"|'([^<']*)')`, 'uy')
const tagRestForm = /[ \t\n]*(\/?)$/y

/** XML 1.0, section 4.6. Other entities require a document type. */
const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" }
const reference = /&(?:([a-z]+)|#([0-9]{1,7})|#x([0-9a-fA-F]{1,6}));|&/g
/** XML 1.0, section 2.2. */
export const forbiddenCharacter = new RegExp(String.raw`[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]`)

/** Resolves the references in a text; undefined if one is invalid. */
export function resolveReferences(text: string): string | undefined {
  if (!text.includes('&')) return text
  let isWrong = false
  const plain = text.replace(reference, (_, name?: string, decimal?: string, hexadecimal?: string) => {
    const code = decimal === undefined ? Number.parseInt(hexadecimal ?? '', 16) : Number(decimal)
    const isCharacter = code <= 0x10_ff_ff && !(code >= 0xd800 && code <= 0xdfff)
    const character = name === undefined ? (isCharacter ? String.fromCodePoint(code) : undefined) : entities[name]
    if (character === undefined || forbiddenCharacter.test(character)) isWrong = true
    return character ?? ''
  })
  return isWrong ? undefined : plain
}

/** Interns a text as a property key, so that comparisons with names in the code are fast. */
const intern = (text: string): string => Object.keys({ [text]: true })[0] ?? text

type Attributes = Map<string, string>
/** Reads the attributes in `raw` after the name, and whether the tag is empty; undefined if they are malformed. */
function readAttributes(
  raw: string,
  from: number,
  attributesMax: number,
): { readonly attributes: Attributes; readonly isEmpty: boolean } | undefined {
  const attributes: Attributes = new Map()
  let at = from
  while (attributes.size <= attributesMax) {
    attribute.lastIndex = at
    const match = attribute.exec(raw)
    if (match === null) break
    const [whole, name = '', double, single] = match
    const value = resolveReferences((double ?? single ?? '').replace(/[\t\n]/g, ' '))
    if (value === undefined || attributes.has(name)) return undefined
    attributes.set(name, value)
    at += whole.length
  }
  tagRestForm.lastIndex = at
  const rest = tagRestForm.exec(raw)
  if (attributes.size > attributesMax) return { attributes, isEmpty: false }
  return rest === null ? undefined : { attributes, isEmpty: rest[1] === '/' }
}

/** Adds the namespaces that the attributes declare to those of the scope; undefined if a declaration is invalid. */
function declareNamespaces(
  attributes: Attributes,
  { namespaces }: NamespaceScope,
): ReadonlyMap<string, string> | undefined {
  const found = new Map(namespaces)
  for (const [name, value] of attributes) {
    if (name === 'xmlns') found.set('', value)
    else if (name.startsWith('xmlns:')) {
      const prefix = name.slice('xmlns:'.length)
      if (value === '' || prefix === 'xml' || prefix === 'xmlns') return undefined
      found.set(prefix, value)
    }
  }
  return found
}

export type ParsedTag = { readonly tag: XmlTag; readonly scope: NamespaceScope }

/** The result of `readTag` for a well-formed tag beyond the limit. */
export const tooManyAttributes = 'a tag has too many attributes'

/** Reads the tag with the text `raw` between `<` and `>`. Returns the tag and the scope of its content, or a problem. */
export function parseTag(raw: string, outer: NamespaceScope, depth: number, attributesMax: number): ParsedTag | string {
  const [, qualified] = tagNameForm.exec(raw) ?? []
  if (qualified === undefined) return 'a tag has no name'
  const read = readAttributes(raw, qualified.length, attributesMax)
  if (read === undefined) return `the attributes of ${qualified} are malformed`
  const { attributes, isEmpty } = read
  if (attributes.size > attributesMax) return tooManyAttributes
  const declares = [...attributes.keys()].some((name) => name === 'xmlns' || name.startsWith('xmlns:'))
  const namespaces = declares ? declareNamespaces(attributes, outer) : outer.namespaces
  if (namespaces === undefined) return `a namespace of ${qualified} is malformed`
  const scope = declares ? { namespaces, tags: new Map<string, XmlTag>(), depth } : outer
  const undeclared = [...attributes.keys()].find(
    (name) => name.includes(':') && !name.startsWith('xmlns:') && !namespaces.has(name.slice(0, name.indexOf(':'))),
  )
  if (undeclared !== undefined) return `the prefix of ${undeclared} is not declared`
  const colon = qualified.indexOf(':')
  const namespace = namespaces.get(qualified.slice(0, Math.max(0, colon)))
  if (namespace === undefined) return `the prefix of ${qualified} is not declared`
  const tag: XmlTag = {
    raw,
    scope,
    next: undefined,
    qualified,
    local: intern(qualified.slice(colon + 1)),
    namespace,
    attributes: attributes.size === 0 ? undefined : attributes,
    isEmpty,
  }
  if (!declares && outer.tags.size < tagsMax) outer.tags.set(raw, tag)
  return { tag, scope }
}
