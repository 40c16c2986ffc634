/**
 * Scans XML 1.0 with namespaces. Refuses document types, so that entities are not expanded and nothing is fetched, and XML
 * that is not well-formed. Takes the text in parts of any length, and keeps one token in memory.
 */
import { type MessageLimits, MessageProblem, type ProblemCode } from '../source.ts'
import type { TextPosition } from './decode.ts'
import {
  forbiddenCharacter,
  parseTag,
  resolveReferences,
  rootScope,
  type NamespaceScope,
  type XmlTag,
  tooManyAttributes,
} from './tags.ts'

export type XmlHandler = {
  /** `line`: the line on which the tag begins. */
  readonly open: (tag: XmlTag, line: number) => void
  /** Receives text of the open element, in one or more pieces, with references resolved. */
  readonly text: (text: string) => void
  readonly close: () => void
}

export type XmlScanner = {
  readonly write: (text: string) => void
  /** Ends the text. Refuses an incomplete document. */
  readonly end: () => void
  readonly where: () => TextPosition
}

type ScanState = {
  readonly handler: XmlHandler
  readonly limits: MessageLimits
  /** Text from `at` on is not scanned yet. */
  buffer: string
  at: number
  line: number
  /** The position of the next line end to be counted; Infinity if there is none. */
  lineEnd: number
  readonly open: XmlTag[]
  /** The previous start tag, and whether the previous token was a tag: space between two tags is not text. */
  previous: XmlTag | undefined
  isBehindTag: boolean
  readonly scopes: NamespaceScope[]
  scope: NamespaceScope
  /** `isFresh`: only space was read so far. `isEnded`: the root element has ended. */
  isFresh: boolean
  isEnded: boolean
  /** Whether the buffer contains `]]>`. */
  hasSectionEnd: boolean
}

const slash = 47
const exclamation = 33
const question = 63
const greater = 62
const sectionStart = '<![CDATA['
const doctypeStart = '<!DOCTYPE'
const xmlDeclaration =
  /^xml[ \t\n]+version[ \t\n]*=[ \t\n]*(?:"1\.\d+"|'1\.\d+')(?:[ \t\n]+encoding[ \t\n]*=[ \t\n]*(?:"[\w.-]+"|'[\w.-]+'))?(?:[ \t\n]+standalone[ \t\n]*=[ \t\n]*(?:"(?:yes|no)"|'(?:yes|no)'))?[ \t\n]*$/

export function createScanner(handler: XmlHandler, limits: MessageLimits): XmlScanner {
  const scope = rootScope()
  const scan: ScanState = {
    handler,
    limits,
    buffer: '',
    at: 0,
    line: 1,
    lineEnd: Infinity,
    open: [],
    previous: undefined,
    isBehindTag: false,
    scopes: [scope],
    scope,
    isFresh: true,
    isEnded: false,
    hasSectionEnd: false,
  }
  return {
    write: (text) => {
      const { buffer, at } = scan
      if (forbiddenCharacter.test(text)) refuseCharacter(scan, text)
      scan.buffer = at < buffer.length ? buffer.slice(at) + text : text
      scan.at = 0
      scan.lineEnd = nextLineEnd(scan.buffer, 0)
      scan.hasSectionEnd = scan.buffer.includes(']]>')
      while (scanToken(scan));
    },
    end: () => {
      if (!scan.isEnded) refuse(scan, 'not_whole', 'the message ends before its document')
      if (!isBlank(scan.buffer, scan.at)) refuse(scan, 'not_xml', 'text follows the document')
    },
    where: () => positionIn(scan),
  }
}

const positionIn = ({ open, line }: ScanState): TextPosition => ({
  path: open.map(({ local }) => local).join('/'),
  line,
})

function refuse(scan: ScanState, code: ProblemCode, message: string): never {
  throw new MessageProblem(code, message, positionIn(scan))
}

function refuseCharacter(scan: ScanState, text: string): never {
  countLines(scan, Infinity)
  scan.line += text.slice(0, text.search(forbiddenCharacter)).split('\n').length - 1
  refuse(scan, 'not_xml', 'a character is not allowed in XML')
}

function nextLineEnd(text: string, from: number): number {
  const at = text.indexOf('\n', from)
  return at === -1 ? Infinity : at
}

/** Counts the lines that end before `to`. */
function countLines(scan: ScanState, to: number): void {
  while (scan.lineEnd < to) {
    scan.line += 1
    scan.lineEnd = nextLineEnd(scan.buffer, scan.lineEnd + 1)
  }
}

export const isBlank = (text: string, from = 0): boolean => isBlankUntil(text, from, text.length)

function isBlankUntil(text: string, from: number, to: number): boolean {
  for (let i = from; i < to; i += 1) {
    const code = text.charCodeAt(i)
    if (code !== 32 && code !== 10 && code !== 9 && code !== 13) return false
  }
  return true
}

/** Scans one token. Returns false if the buffer ends within it; its beginning is kept for the next part. */
function scanToken(scan: ScanState): boolean {
  const { buffer, at } = scan
  const start = buffer.indexOf('<', at)
  if (start === -1) {
    if (scan.open.length === 0 && !isBlank(buffer, at)) refuse(scan, 'not_xml', 'text is outside the document')
    return keepForNextPart(scan, at, scan.limits.textMax, 'a text')
  }
  const code = buffer.charCodeAt(start + 1)
  const isTag = code !== exclamation && code !== question
  if (start > at) {
    if (!(isTag && scan.isBehindTag && isBlankUntil(buffer, at, start))) scanText(scan, buffer.slice(at, start))
    scan.at = start
  }
  countLines(scan, start)
  // Comments and CDATA sections are parts of a text, so that space around them counts.
  if (start + 1 < buffer.length) scan.isBehindTag = isTag
  if (code === slash) return scanEndTag(scan, start)
  if (code === exclamation) return scanDeclaration(scan, start)
  if (code === question) return scanInstruction(scan, start)
  return scanStartTag(scan, start)
}

/** Keeps the buffer from `start` on for the next part, unless it is already too long. */
function keepForNextPart(scan: ScanState, start: number, charsMax: number, what: string): false {
  const { buffer } = scan
  if (buffer.length - start > charsMax) {
    countLines(scan, start)
    refuse(scan, 'too_large', `${what} has more than ${charsMax} characters`)
  }
  countLines(scan, start)
  scan.at = start
  return false
}

function scanText(scan: ScanState, raw: string): void {
  if (scan.open.length === 0) {
    if (!isBlank(raw)) refuse(scan, 'not_xml', 'text is outside the document')
    return
  }
  const { textMax } = scan.limits
  if (raw.length > textMax) refuse(scan, 'too_large', `a text has more than ${textMax} characters`)
  if (scan.hasSectionEnd && raw.includes(']]>')) refuse(scan, 'not_xml', 'a text has ]]>')
  const text = resolveReferences(raw)
  if (text === undefined) refuse(scan, 'not_xml', 'a text has & without a valid reference')
  scan.handler.text(text)
}

function scanEndTag(scan: ScanState, start: number): boolean {
  const { buffer, open } = scan
  const tag = open.at(-1)
  const nameAt = start + 2
  let end = tag === undefined ? -1 : nameAt + tag.qualified.length
  if (tag === undefined || buffer[end] !== '>' || !buffer.startsWith(tag.qualified, nameAt)) {
    end = buffer.indexOf('>', nameAt)
    if (end === -1) return keepForNextPart(scan, start, scan.limits.tagMax, 'a tag')
    const nameEnd = nameAt + (tag?.qualified.length ?? 0)
    if (tag === undefined || !buffer.startsWith(tag.qualified, nameAt) || !isBlankUntil(buffer, nameEnd, end))
      refuse(
        scan,
        'not_xml',
        `expected the end of ${tag?.qualified ?? 'no element'}, not that of ${buffer.slice(nameAt, Math.min(end, nameAt + 80))}`,
      )
  }
  scan.at = end + 1
  closeElement(scan)
  return true
}

function closeElement(scan: ScanState): void {
  scan.handler.close()
  scan.open.pop()
  if (scan.open.length === 0) scan.isEnded = true
  if (scan.scope.depth === scan.open.length && scan.scopes.length > 1) {
    scan.scopes.pop()
    scan.scope = scan.scopes.at(-1) ?? scan.scope
  }
}

/** Finds the end of the tag at `start`, ignoring `>` within quotes; -1 if it is not in the buffer. */
function findTagEnd(scan: ScanState, start: number): number {
  const { buffer } = scan
  let quote = 0
  for (let i = start + 1; i < buffer.length; i += 1) {
    const code = buffer.charCodeAt(i)
    if (code === 60) refuse(scan, 'not_xml', 'a tag has < within it')
    if (quote !== 0) quote = code === quote ? 0 : quote
    else if (code === 34 || code === 39) quote = code
    else if (code === greater) return i
  }
  return -1
}

/** Returns the tag at `start` if it is the one that last followed the previous tag. */
function matchExpectedTag({ buffer, scope, previous }: ScanState, start: number): XmlTag | undefined {
  const next = previous?.next
  if (next === undefined || next.scope !== scope || !buffer.startsWith(next.raw, start + 1)) return undefined
  return buffer.charCodeAt(start + 1 + next.raw.length) === greater ? next : undefined
}

/** Returns the tag at `start`, cached by its text or newly read; undefined if the buffer ends within it. */
function readTagAt(scan: ScanState, start: number): XmlTag | undefined {
  const { buffer, scope, open, limits } = scan
  const quick = buffer.indexOf('>', start)
  const known = quick === -1 ? undefined : scope.tags.get(buffer.slice(start + 1, quick))
  if (known) return known
  const end = findTagEnd(scan, start)
  if (end === -1) return undefined
  if (end - start > limits.tagMax) refuse(scan, 'too_large', `a tag has more than ${limits.tagMax} characters`)
  const read = parseTag(buffer.slice(start + 1, end), scope, open.length, limits.attributesMax)
  if (typeof read === 'string') refuse(scan, read === tooManyAttributes ? 'too_large' : 'not_xml', read)
  if (read.scope !== scope) {
    scan.scopes.push(read.scope)
    scan.scope = read.scope
  }
  return read.tag
}

function scanStartTag(scan: ScanState, start: number): boolean {
  const { open, limits, previous } = scan
  const tag = matchExpectedTag(scan, start) ?? readTagAt(scan, start)
  if (tag === undefined) return keepForNextPart(scan, start, limits.tagMax, 'a tag')
  if (scan.isEnded) refuse(scan, 'not_xml', 'a second document follows the first')
  if (open.length >= limits.depthMax) refuse(scan, 'too_large', `elements are nested more than ${limits.depthMax} deep`)
  if (previous) previous.next = tag
  scan.previous = tag
  scan.isFresh = false
  scan.at = start + tag.raw.length + 2
  scan.handler.open(tag, scan.line)
  open.push(tag)
  if (tag.isEmpty) closeElement(scan)
  return true
}

/** Scans a comment or a CDATA section. Refuses a document type. */
function scanDeclaration(scan: ScanState, start: number): boolean {
  const { buffer, limits } = scan
  if (buffer.startsWith('<!--', start)) {
    const end = buffer.indexOf('--', start + 4)
    if (end === -1 || end + 2 >= buffer.length) return keepForNextPart(scan, start, limits.textMax, 'a comment')
    if (buffer[end + 2] !== '>') refuse(scan, 'not_xml', 'a comment has -- within it')
    if (end - start > limits.textMax) refuse(scan, 'too_large', `a comment has more than ${limits.textMax} characters`)
    scan.at = end + 3
  } else if (buffer.startsWith(sectionStart, start)) {
    const end = buffer.indexOf(']]>', start)
    if (end === -1) return keepForNextPart(scan, start, limits.textMax, 'a text')
    if (scan.open.length === 0) refuse(scan, 'not_xml', 'text is outside the document')
    if (end - start > limits.textMax) refuse(scan, 'too_large', `a text has more than ${limits.textMax} characters`)
    scan.handler.text(buffer.slice(start + sectionStart.length, end))
    scan.at = end + 3
  } else {
    const begin = buffer.slice(start, start + doctypeStart.length)
    if (begin.toUpperCase() === doctypeStart) refuse(scan, 'doctype', 'the message has a document type')
    if (sectionStart.startsWith(begin) || doctypeStart.startsWith(begin) || begin === '<!-')
      return keepForNextPart(scan, start, limits.tagMax, 'a tag')
    refuse(scan, 'not_xml', 'a declaration is outside a document type')
  }
  scan.isFresh = false
  return true
}

/** Scans a processing instruction. Only the XML declaration at the beginning has a meaning; others are ignored. */
function scanInstruction(scan: ScanState, start: number): boolean {
  const { buffer, limits } = scan
  const end = buffer.indexOf('?>', start + 2)
  if (end === -1) return keepForNextPart(scan, start, limits.tagMax, 'a processing instruction')
  const content = buffer.slice(start + 2, end)
  if (content.length > limits.tagMax) refuse(scan, 'too_large', 'a processing instruction is too long')
  if (!/^[\p{L}_:][^\s?]*(?:\s|$)/u.test(content)) refuse(scan, 'not_xml', 'a processing instruction has no target')
  if (/^xml(?:\s|$)/i.test(content) && !(scan.isFresh && xmlDeclaration.test(content)))
    refuse(scan, 'not_xml', 'the XML declaration is malformed or within the message')
  scan.isFresh = false
  scan.at = end + 2
  return true
}
