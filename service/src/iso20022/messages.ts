/** The known messages, with the element within the document of each. */
import type { ReportKind } from './model.ts'
import { type MessageLimits, limitsDefault, MessageProblem, type MessageSource } from './source.ts'
import { type XmlNode, nodePath, readTree } from './xml/tree.ts'

export const messageElements = {
  'pain.001': 'CstmrCdtTrfInitn',
  'pain.002': 'CstmrPmtStsRpt',
  'camt.029': 'RsltnOfInvstgtn',
  'camt.052': 'BkToCstmrAcctRpt',
  'camt.053': 'BkToCstmrStmt',
  'camt.054': 'BkToCstmrDbtCdtNtfctn',
  'camt.055': 'CstmrPmtCxlReq',
  'camt.056': 'FIToFIPmtCxlReq',
} as const
export type MessageKind = keyof typeof messageElements
const kinds = Object.keys(messageElements) as MessageKind[]

export type MessageName = { readonly kind: MessageKind; readonly version: string }

export const messageNamespace = (name: string): string => `urn:iso:std:iso:20022:tech:xsd:${name}`

/** Matches also `pain.001.003.03` of the German banks and the Swiss `.../pain.001.001.03.ch.02.xsd`. */
const namespaceForm = /\b((?:pain|camt)\.\d{3})\.\d{3}\.(\d{2})\b/

/**
 * Identifies a message by its element. Undefined if the element is unknown or the namespace belongs to another message.
 */
export function messageName(namespace: string, element: string): MessageName | undefined {
  const kind = kinds.find((candidate) => messageElements[candidate] === element)
  const [, named, version = ''] = namespaceForm.exec(namespace) ?? []
  return kind === undefined || (named !== undefined && named !== kind) ? undefined : { kind, version }
}

/** Identifies a message at its beginning. Refuses a message of another kind. */
export function expectMessage(
  namespace: string,
  message: XmlNode,
  expected: readonly MessageKind[],
): { readonly kind: MessageKind; readonly version: string } {
  const name = messageName(namespace, message.name)
  if (name && expected.includes(name.kind)) return name
  const found = `${message.name} of ${namespace === '' ? 'no namespace' : namespace.slice(0, 80)}`
  throw new MessageProblem('unknown_message', `expected ${expected.join(' or ')}, not ${found}`, {
    path: nodePath(message),
    line: message.line,
  })
}

/** The elements of statements, pages and further text, which each kind of account report names differently. */
export const reportElements = {
  'camt.052': { statement: 'Rpt', page: 'RptPgntn', information: 'AddtlRptInf' },
  'camt.053': { statement: 'Stmt', page: 'StmtPgntn', information: 'AddtlStmtInf' },
  'camt.054': { statement: 'Ntfctn', page: 'NtfctnPgntn', information: 'AddtlNtfctnInf' },
} as const satisfies Record<
  ReportKind,
  { readonly statement: string; readonly page: string; readonly information: string }
>
export const reportKinds = Object.keys(reportElements) as ReportKind[]

/**
 * Recognises the message of a file; undefined if it is unknown. `version`: such as `08`, empty without a namespace. Throws
 * a `MessageProblem` for a file that is not a message. Reads the source until the message begins.
 */
export async function recogniseMessage(
  source: MessageSource,
  limits?: Partial<MessageLimits>,
): Promise<MessageName | undefined> {
  let begun: { readonly name: MessageName | undefined } | undefined
  const reader = {
    began: (namespace: string, { name }: { readonly name: string }) => {
      begun = { name: messageName(namespace, name) }
    },
    ended: () => 'released' as const,
  }
  try {
    for await (const _ of readTree(source, reader, { ...limitsDefault, ...limits })) if (begun !== undefined) break
  } catch (error) {
    // The reader of the message reports later problems.
    if (begun === undefined) throw error
  }
  return begun?.name
}
