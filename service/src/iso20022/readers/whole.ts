/** Messages that are one value: their payments are read as they end, the rest at the end. */
import { expectMessage, type MessageKind, type MessageName } from '../messages.ts'
import { MessageProblem } from '../problem.ts'
import { type Limits, type Source, wholeLimitsDefault } from '../source.ts'
import { type Ended, type Node, readTree } from '../xml/tree.ts'

type Whole<Item, Value> = {
  readonly kinds: readonly MessageKind[]
  /** An element that occurs many times below an element of another name, and its value. */
  readonly item: (node: Node) => Item | undefined
  /** The value of the message; `itemsOf` are those that ended within an element. */
  readonly value: (message: Node, itemsOf: (node: Node) => readonly Item[], name: MessageName) => Value
}

export async function readWhole<Item, Value>(
  source: Source,
  { kinds, item, value }: Whole<Item, Value>,
  limits: Partial<Limits> | undefined,
): Promise<Value> {
  let message: { readonly node: Node; readonly name: MessageName } | undefined
  const items = new Map<Node, Item[]>()
  const itemsOf = (node: Node): readonly Item[] => items.get(node) ?? []
  let found: { readonly value: Value } | undefined
  const ended = (node: Node): Ended => {
    if (message?.node === node) found = { value: value(node, itemsOf, message.name) }
    const read = node.parent && item(node)
    if (node.parent === undefined || read === undefined) return 'kept'
    const siblings = items.get(node.parent)
    if (siblings) siblings.push(read)
    else items.set(node.parent, [read])
    return 'released'
  }
  const reader = {
    began: (namespace: string, node: Node) => {
      message = { node, name: expectMessage(namespace, node, kinds) }
    },
    ended,
  }
  // Only the end of the message counts: a part of it is not a value.
  for await (const _ of readTree(source, reader, { ...wholeLimitsDefault, ...limits }));
  if (found === undefined)
    throw new MessageProblem('not_in_schema', 'the document has no message', { path: 'Document', line: 1 })
  return found.value
}
