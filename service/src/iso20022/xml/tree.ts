/**
 * Builds trees of elements. A reader consumes each element when it ends, so that only one entry of a statement is in
 * memory. Skips elements of other namespaces, supplementary data, and an envelope around `Document`.
 */
import { type MessageLimits, MessageProblem, type ProblemCode, type MessageSource } from '../source.ts'
import { decodeMessage } from './decode.ts'
import { createScanner, type XmlHandler, isBlank } from './scanner.ts'
import type { XmlTag } from './tags.ts'

export type XmlNode = {
  readonly name: string
  readonly line: number
  readonly parent: XmlNode | undefined
  readonly attributes: ReadonlyMap<string, string> | undefined
  text: string
  children: XmlNode[]
  /** The number of elements and characters in memory when the element began. */
  readonly elementsBefore: number
  readonly charsBefore: number
}

/**
 * The disposal of an element that has ended: `taken` and `released` remove it from the tree; `released` also ends a
 * record.
 */
export type NodeDisposal = 'kept' | 'taken' | 'released'

export type TreeReader = {
  /** Called when the message begins, with the namespace of its document and the element within it. */
  readonly began: (namespace: string, message: XmlNode) => void
  readonly onOpen?: (node: XmlNode) => void
  readonly ended: (node: XmlNode) => NodeDisposal
}

type TreeState = {
  readonly reader: TreeReader
  readonly limits: MessageLimits
  readonly open: XmlNode[]
  namespace: string | undefined
  /** The number of open elements within a skipped one. */
  skipped: number
  hasDocument: boolean
  elements: number
  chars: number
}

const noChildren: XmlNode[] = []
const supplementaryData = 'SplmtryData'

export const nodePath = ({ name, parent }: XmlNode): string => (parent ? `${nodePath(parent)}/${name}` : name)

export function refuseAt(node: XmlNode, message: string, code: ProblemCode = 'not_in_schema'): never {
  throw new MessageProblem(code, message, { path: nodePath(node), line: node.line })
}

function opened(tree: TreeState, tag: XmlTag, line: number): void {
  const { open, reader, limits } = tree
  if (tree.skipped > 0) {
    tree.skipped += 1
    return
  }
  const parent = open.at(-1)
  if (parent === undefined && tag.local !== 'Document') return
  const node: XmlNode = {
    name: tag.local,
    line,
    parent,
    attributes: tag.attributes,
    text: '',
    children: noChildren,
    elementsBefore: tree.elements,
    charsBefore: tree.chars,
  }
  if (parent === undefined) {
    if (tree.hasDocument) refuseAt(node, 'the file has more than one document')
    tree.hasDocument = true
    tree.namespace = tag.namespace
  } else if (tag.namespace !== tree.namespace || tag.local === supplementaryData) {
    tree.skipped = 1
    return
  } else {
    if (!isBlank(parent.text)) refuseAt(parent, `${parent.name} has text beside elements`)
    if (parent.children === noChildren) parent.children = [node]
    else parent.children.push(node)
  }
  open.push(node)
  tree.elements += 1
  if (tree.elements > limits.elementsMax) refuseAt(node, `more than ${limits.elementsMax} elements`, 'too_large')
  if (open.length === 2) reader.began(tree.namespace ?? '', node)
  reader.onOpen?.(node)
}

function addText(tree: TreeState, text: string): void {
  const node = tree.open.at(-1)
  if (tree.skipped > 0 || node === undefined) return
  if (node.children !== noChildren) {
    if (!isBlank(text)) refuseAt(node, `${node.name} has text beside elements`)
    return
  }
  node.text = node.text === '' ? text : node.text + text
  tree.chars += text.length
  const { textMax, recordCharsMax } = tree.limits
  if (node.text.length > textMax) refuseAt(node, `a text has more than ${textMax} characters`, 'too_large')
  if (tree.chars > recordCharsMax) refuseAt(node, `texts have more than ${recordCharsMax} characters`, 'too_large')
}

function onClose(tree: TreeState): void {
  if (tree.skipped > 0) {
    tree.skipped -= 1
    return
  }
  const node = tree.open.pop()
  if (node === undefined) return
  const left = tree.reader.ended(node)
  if (left === 'kept') return
  node.parent?.children.pop()
  tree.elements = node.elementsBefore
  if (left === 'released') tree.chars = node.charsBefore
}

/** Reads the source to its end. Yields after each part, so that the caller can process the results of the reader. */
export async function* readTree(
  source: MessageSource,
  reader: TreeReader,
  limits: MessageLimits,
): AsyncGenerator<void> {
  const tree: TreeState = {
    reader,
    limits,
    open: [],
    namespace: undefined,
    skipped: 0,
    hasDocument: false,
    elements: 0,
    chars: 0,
  }
  const handler: XmlHandler = {
    open: (tag, line) => opened(tree, tag, line),
    text: (text) => addText(tree, text),
    close: () => onClose(tree),
  }
  const scanner = createScanner(handler, limits)
  for await (const text of decodeMessage(source, limits, scanner.where)) {
    scanner.write(text)
    yield
  }
  scanner.end()
  if (!tree.hasDocument)
    throw new MessageProblem('unknown_message', 'the file has no element Document', { path: '', line: 1 })
  yield
}
