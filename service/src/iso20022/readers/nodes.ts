/** Reads the contents of elements: children by name, texts, codes, numbers, dates and amounts. */
import { currencies, isFiat } from '../../kernel/index.ts'
import type { Amount, Code } from '../model.ts'
import { type NodeDisposal, type XmlNode, readTree, refuseAt } from '../xml/tree.ts'
import { expectMessage, type MessageKind, type MessageName } from '../messages.ts'
import { type MessageLimits, MessageProblem, type MessageSource, wholeLimitsDefault } from '../source.ts'

/** Returns the only child of this name. Refuses two, because one value would be lost. */
export function onlyChild(node: XmlNode | undefined, name: string): XmlNode | undefined {
  let found: XmlNode | undefined
  if (node !== undefined)
    for (const child of node.children)
      if (child.name === name) {
        if (found) refuseAt(child, `${node.name} has more than one ${name}`)
        found = child
      }
  return found
}

export function requireChild(node: XmlNode, name: string): XmlNode {
  return onlyChild(node, name) ?? refuseAt(node, `${node.name} has no ${name}`)
}

const none: readonly XmlNode[] = []
export const childrenNamed = (node: XmlNode | undefined, name: string): readonly XmlNode[] =>
  node === undefined ? none : node.children.filter((child) => child.name === name)

/** Returns the child at the end of a path. */
export function descendant(node: XmlNode | undefined, ...names: readonly string[]): XmlNode | undefined {
  let found = node
  for (const name of names) found = onlyChild(found, name)
  return found
}

/** Returns the unchanged text; undefined if it is blank, because the schema has no empty texts. */
function nodeText(node: XmlNode | undefined): string | undefined {
  if (node === undefined) return undefined
  if (node.children.length > 0) refuseAt(node, `${node.name} has elements where a text is expected`)
  return node.text.trim() === '' ? undefined : node.text
}
export const childText = (node: XmlNode | undefined, name: string): string | undefined =>
  nodeText(onlyChild(node, name))

/** Returns a code or identifier, trimmed: some banks pad them with spaces. */
export const childToken = (node: XmlNode | undefined, name: string): string | undefined =>
  nodeText(onlyChild(node, name))?.trim()
export const nodeToken = (node: XmlNode | undefined): string | undefined => nodeText(node)?.trim()

export function requireToken(node: XmlNode, name: string): string {
  const found = requireChild(node, name)
  return nodeToken(found) ?? refuseAt(found, `${name} is empty`)
}

export const childTexts = (node: XmlNode | undefined, name: string): readonly string[] =>
  childrenNamed(node, name).flatMap((child) => nodeText(child) ?? [])

/** Reads Cd or Prtry. Proprietary codes of charges have their text in an element Id. */
export function readCode(node: XmlNode | undefined): Code | undefined {
  const code = childToken(node, 'Cd')
  if (code !== undefined) return { code }
  const own = onlyChild(node, 'Prtry')
  const proprietary = own && own.children.length > 0 ? childToken(own, 'Id') : nodeToken(own)
  return proprietary === undefined ? undefined : { proprietary }
}

/** Drops absent fields. */
export function compact<T extends object>(fields: { readonly [Key in keyof T]: T[Key] | undefined }): T {
  const found: Partial<T> = {}
  for (const key in fields) {
    const value = fields[key]
    if (value !== undefined) found[key] = value
  }
  return found as T
}

/** Drops absent fields like `compact`; undefined if all are absent. */
export function compactOrUndefined<T extends object>(fields: { readonly [Key in keyof T]: T[Key] | undefined }):
  | T
  | undefined {
  for (const key in fields) if (fields[key] !== undefined) return compact(fields)
  return undefined
}

const decimal = /^\+?0*(\d*)(?:\.(\d*))?$/
/** Maximum length with leading zeros, because the expression above takes quadratic time in the length of the text. */
const decimalChars = 64
/** ActiveOrHistoricCurrencyAndAmount: totalDigits. */
const digitsMax = 18
const shownChars = 40

type Digits = readonly [whole: string, fraction: string]

/** Splits a non-negative decimal at its point, or returns why it is not one. */
function parseDigits(written: string): Digits | string {
  const match = written.length <= decimalChars ? decimal.exec(written) : null
  const [, whole = '', fraction = ''] = match ?? []
  if (match === null || !/\d/.test(written)) return `is not an amount: ${written.slice(0, shownChars)}`
  if (whole.length + fraction.length > digitsMax) return `has more than ${digitsMax} digits`
  return [whole, fraction]
}

function readDigits(node: XmlNode, written: string): Digits {
  const found = parseDigits(written)
  return typeof found === 'string' ? refuseAt(node, `${node.name} ${found}`) : found
}

const readCurrency = (node: XmlNode): string | undefined => {
  const currency = node.attributes?.get('Ccy')?.trim() ?? ''
  return /^[A-Z]{3}$/.test(currency) ? currency : undefined
}

/** Reads an exact amount, or returns why it is inexact: more decimal digits than the currency has, except zeros. */
function exactAmount(currency: string, written: string): Amount | string {
  const digits = parseDigits(written)
  if (typeof digits === 'string') return digits
  if (!isFiat(currency)) return { currency, minor: null, text: written }
  const [whole, fraction] = digits
  const { digits: count } = currencies[currency]
  if (/[1-9]/.test(fraction.slice(count))) return `is not in ${currency}, which has ${count} decimal digits: ${written}`
  return { currency, minor: BigInt(whole + fraction.slice(0, count).padEnd(count, '0')) }
}

/** Reads an amount that moves money. Refuses an inexact one. */
export function readAmount(node: XmlNode): Amount {
  const currency = readCurrency(node) ?? refuseAt(node, `${node.name} has no currency of three letters`)
  const found = exactAmount(currency, nodeToken(node) ?? '')
  return typeof found === 'string' ? refuseAt(node, `${node.name} ${found}`) : found
}

/**
 * Reads an informative amount, such as a charge; undefined without a currency or text. ISO 20022 allows five decimals, and
 * banks write signs, so that an inexact amount is kept as its text.
 */
export function readInformativeAmount(node: XmlNode | undefined): Amount | undefined {
  const currency = node && readCurrency(node)
  const written = nodeToken(node)
  if (currency === undefined || written === undefined) return undefined
  const found = exactAmount(currency, written)
  return typeof found === 'string' ? { currency, minor: null, text: written.slice(0, decimalChars) } : found
}
export const childInformativeAmount = (node: XmlNode | undefined, name: string): Amount | undefined =>
  readInformativeAmount(onlyChild(node, name))

/** Reads a decimal without currency as text: control sums and totals. */
export function decimalText(node: XmlNode | undefined, name: string): string | undefined {
  const found = onlyChild(node, name)
  const written = nodeToken(found)
  if (found && written !== undefined) readDigits(found, written.replace(/^-/, ''))
  return written
}

export function childNumber(node: XmlNode | undefined, name: string): number | undefined {
  const found = onlyChild(node, name)
  const written = nodeToken(found)
  if (found && written !== undefined && !/^\d{1,15}$/.test(written)) refuseAt(found, `${name} is not a number`)
  return written === undefined ? undefined : Number(written)
}

/** Reads an informative count; undefined if it is not a number. */
export function childInformativeNumber(node: XmlNode | undefined, name: string): number | undefined {
  const written = childToken(node, name) ?? ''
  return /^\d{1,15}$/.test(written) ? Number(written) : undefined
}

export function childFlag(node: XmlNode | undefined, name: string): boolean | undefined {
  const found = onlyChild(node, name)
  const written = nodeToken(found)
  if (found === undefined || written === undefined) return undefined
  if (!/^(?:true|false|0|1)$/.test(written)) refuseAt(found, `${name} is neither true nor false`)
  return written === 'true' || written === '1'
}

/** Reads CdtDbtInd. */
export function isCredit(node: XmlNode | undefined): boolean | undefined {
  const found = onlyChild(node, 'CdtDbtInd')
  const written = nodeToken(found)
  if (found && written !== 'CRDT' && written !== 'DBIT') refuseAt(found, 'CdtDbtInd is neither CRDT nor DBIT')
  return found && written === 'CRDT'
}

const zone = String.raw`(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)?`
const date = new RegExp(`^(\\d{4})-(\\d{2})-(\\d{2})${zone}$`)
const dateTime = new RegExp(
  String.raw`^(\d{4})-(\d{2})-(\d{2})T(?:(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,12})?|24:00:00)${zone}$`,
)

const daysOfMonths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
function isDay(year: number, month: number, day: number): boolean {
  const isLeap = year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
  const days = month === 2 && isLeap ? 29 : (daysOfMonths[month - 1] ?? 0)
  return day >= 1 && day <= days
}

/** Reads a date without its offset, or a time with its offset. */
export function readTime(node: XmlNode | undefined): string | undefined {
  const written = nodeToken(node)
  if (node === undefined || written === undefined) return undefined
  const match = date.exec(written) ?? dateTime.exec(written)
  const [, year, month, day] = match ?? []
  if (match === null || !isDay(Number(year), Number(month), Number(day)))
    refuseAt(node, `${node.name} is not a date: ${written.slice(0, shownChars)}`)
  return written.includes('T') ? written : written.slice(0, 10)
}
export const childTime = (node: XmlNode | undefined, name: string): string | undefined =>
  readTime(onlyChild(node, name))

/** Reads DateAndDateTime2Choice. */
export function readDate(node: XmlNode | undefined): string | undefined {
  return childTime(node, 'Dt') ?? childTime(node, 'DtTm')
}

// Messages that are read as one value: each payment when its element ends, the rest at the end of the message.

type MessageReader<Item, Value> = {
  readonly kinds: readonly MessageKind[]
  /** Reads an element that may occur many times; undefined for other elements. */
  readonly item: (node: XmlNode) => Item | undefined
  /** Builds the value of the message. `itemsOf` returns the items within an element. */
  readonly value: (message: XmlNode, itemsOf: (node: XmlNode) => readonly Item[], name: MessageName) => Value
}

export async function readWholeMessage<Item, Value>(
  source: MessageSource,
  { kinds, item, value }: MessageReader<Item, Value>,
  limits?: Partial<MessageLimits>,
): Promise<Value> {
  let message: { readonly node: XmlNode; readonly name: MessageName } | undefined
  const items = new Map<XmlNode, Item[]>()
  const itemsOf = (node: XmlNode): readonly Item[] => items.get(node) ?? []
  let found: { readonly value: Value } | undefined
  const ended = (node: XmlNode): NodeDisposal => {
    if (message?.node === node) found = { value: value(node, itemsOf, message.name) }
    const read = node.parent && item(node)
    if (node.parent === undefined || read === undefined) return 'kept'
    const siblings = items.get(node.parent)
    if (siblings) siblings.push(read)
    else items.set(node.parent, [read])
    return 'released'
  }
  const reader = {
    began: (namespace: string, node: XmlNode) => {
      message = { node, name: expectMessage(namespace, node, kinds) }
    },
    ended,
  }
  // Reads to the end: a partial message is not a value.
  for await (const _ of readTree(source, reader, { ...wholeLimitsDefault, ...limits }));
  if (found === undefined)
    throw new MessageProblem('not_in_schema', 'the document has no message', { path: 'Document', line: 1 })
  return found.value
}
