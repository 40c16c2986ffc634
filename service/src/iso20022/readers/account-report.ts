/** Reads camt.052, camt.053 and camt.054, the bookings of a bank, as a stream. */
import { expectMessage, reportElements, reportKinds } from '../messages.ts'
import type { Balance, EntryDetail, EntryTotals, ReportHead, ReportKind, ReportPart, StatementHead } from '../model.ts'
import { type MessageLimits, limitsDefault, MessageProblem, type MessageSource } from '../source.ts'
import { type NodeDisposal, type XmlNode, readTree, refuseAt } from '../xml/tree.ts'
import { readDetail, readEntry, readIfValid } from './entries.ts'
import {
  childrenNamed,
  compactOrUndefined,
  descendant,
  readCode,
  readDate,
  childFlag,
  compact,
  isCredit,
  requireChild,
  requireToken,
  onlyChild,
  childInformativeAmount,
  childInformativeNumber,
  childText,
  childTexts,
  childTime,
  childToken,
} from './nodes.ts'
import { readAccount, readAgent, readParty } from './values.ts'

function readPage(node: XmlNode | undefined): StatementHead['page'] {
  if (node === undefined) return undefined
  return { number: requireToken(node, 'PgNb'), isLast: childFlag(node, 'LastPgInd') ?? refuseAt(node, 'no LastPgInd') }
}

const readHead = (node: XmlNode, kind: ReportKind, version: string): ReportHead =>
  compact<ReportHead>({
    kind,
    version,
    messageId: requireToken(node, 'MsgId'),
    createdAt: childTime(node, 'CreDtTm') ?? refuseAt(node, 'GrpHdr has no CreDtTm'),
    recipient: readParty(onlyChild(node, 'MsgRcpt')),
    page: readPage(onlyChild(node, 'MsgPgntn')),
    information: childText(node, 'AddtlInf'),
  })

/**
 * Reads a balance; undefined if its kind, amount or direction is unreadable. Reconciliation then uses the entries of
 * the statement, and the next statement reveals a gap.
 */
function readBalance(node: XmlNode): Balance | undefined {
  const type = descendant(node, 'Tp')
  const [kind, stated, direction] = [
    readCode(onlyChild(type, 'CdOrPrtry')),
    childInformativeAmount(node, 'Amt'),
    isCredit(node),
  ]
  if (kind === undefined || stated === undefined || direction === undefined) return undefined
  return compact<Balance>({
    type: kind,
    subType: readCode(onlyChild(type, 'SubTp')),
    creditLines: childrenNamed(node, 'CdtLine').flatMap((line) => {
      const isIncluded = childFlag(line, 'Incl')
      if (isIncluded === undefined) return []
      return [compact<Balance['creditLines'][number]>({ isIncluded, amount: childInformativeAmount(line, 'Amt') })]
    }),
    amount: stated,
    isCredit: direction,
    date: readIfValid(() => readDate(onlyChild(node, 'Dt'))),
  })
}

/** Reads the totals. Newer messages have the net in an element with its direction; older ones as a number, with a sign. */
function readTotals(node: XmlNode | undefined): EntryTotals | undefined {
  const [total, credits, debits] = [
    onlyChild(node, 'TtlNtries'),
    onlyChild(node, 'TtlCdtNtries'),
    onlyChild(node, 'TtlDbtNtries'),
  ]
  const net = onlyChild(total, 'TtlNetNtry')
  const written = childToken(net, 'Amt') ?? childToken(total, 'TtlNetNtryAmt')
  const isNegative = written?.startsWith('-')
  return compactOrUndefined<EntryTotals>({
    count: childInformativeNumber(total, 'NbOfNtries'),
    sum: childToken(total, 'Sum'),
    net: written?.replace(/^-/, ''),
    netIsCredit: isCredit(net ?? total) ?? (isNegative ? false : undefined),
    creditCount: childInformativeNumber(credits, 'NbOfNtries'),
    creditSum: childToken(credits, 'Sum'),
    debitCount: childInformativeNumber(debits, 'NbOfNtries'),
    debitSum: childToken(debits, 'Sum'),
  })
}

/** Appends a time to a day, because some banks write days where the schema requires times. */
const withTime = (written: string | undefined, hour: string): string | undefined =>
  written === undefined || written.includes('T') ? written : `${written}T${hour}`

function readStatement(node: XmlNode, kind: ReportKind): StatementHead {
  const account = requireChild(node, 'Acct')
  const period = onlyChild(node, 'FrToDt')
  return compact<StatementHead>({
    id: requireToken(node, 'Id'),
    electronicSequence: childToken(node, 'ElctrncSeqNb'),
    legalSequence: childToken(node, 'LglSeqNb'),
    page: readPage(onlyChild(node, reportElements[kind].page)),
    createdAt: childTime(node, 'CreDtTm'),
    from: withTime(childTime(period, 'FrDtTm') ?? childTime(period, 'FrDt'), '00:00:00'),
    to: withTime(childTime(period, 'ToDtTm') ?? childTime(period, 'ToDt'), '23:59:59'),
    copy: childToken(node, 'CpyDplctInd'),
    account: compact<StatementHead['account']>({
      id: readAccount(account) ?? refuseAt(account, 'Acct has no Id'),
      currency: childToken(account, 'Ccy'),
      name: childText(account, 'Nm'),
      owner: readParty(onlyChild(account, 'Ownr')),
      servicer: readAgent(onlyChild(account, 'Svcr')),
    }),
    balances: childrenNamed(node, 'Bal').flatMap((balance) => readIfValid(() => readBalance(balance)) ?? []),
    totals: readIfValid(() => readTotals(onlyChild(node, 'TxsSummry'))),
  })
}

type ReportReading = {
  readonly limits: MessageLimits
  kind: ReportKind
  version: string
  parts: ReportPart[]
  hasHead: boolean
  /** Whether the head of the open statement was yielded. `entries`: the number of its yielded entries. */
  hasStatement: boolean
  entries: number
  details: EntryDetail[]
  /** The problem of the first unreadable payment of the open entry. */
  broken: MessageProblem | undefined
}

/** Yields the head of a statement before its first entry, or at its end. */
function passStatement(reading: ReportReading, node: XmlNode): void {
  if (reading.hasStatement) return
  if (!reading.hasHead) refuseAt(node, 'GrpHdr is missing')
  reading.parts.push({ kind: 'statement', statement: readStatement(node, reading.kind) })
  reading.hasStatement = true
}

/** The elements of a statement's head. They are refused after the first entry, because they would be lost. */
const headElements: ReadonlySet<string> = new Set(['Acct', 'Bal', 'TxsSummry', 'Id', 'FrToDt'])

function onOpened(reading: ReportReading, node: XmlNode): void {
  if (node.name === 'Ntry' && isStatement(reading, node.parent)) passStatement(reading, node.parent)
  else if (reading.hasStatement && headElements.has(node.name) && isStatement(reading, node.parent))
    refuseAt(node, `${node.name} follows entries`)
}

const isStatement = ({ kind }: ReportReading, node: XmlNode | undefined): node is XmlNode =>
  node?.name === reportElements[kind].statement && node.parent?.parent?.parent === undefined

function onEnded(reading: ReportReading, node: XmlNode): NodeDisposal {
  const { name, parent } = node
  if (name === 'TxDtls' && parent?.name === 'NtryDtls') {
    const detail = readIfValid(
      () => readDetail(node),
      (problem) => (reading.broken ??= problem),
    )
    if (detail !== undefined) reading.details.push(detail)
    const { detailsMax } = reading.limits
    if (reading.details.length > detailsMax)
      refuseAt(node, `an entry has more than ${detailsMax} payments`, 'too_large')
    return 'taken'
  }
  if (name === 'Ntry' && isStatement(reading, parent)) {
    reading.parts.push({ kind: 'entry', entry: readEntry(node, reading.details, reading.broken) })
    reading.entries += 1
    reading.details = []
    reading.broken = undefined
    return 'released'
  }
  if (isStatement(reading, node)) {
    passStatement(reading, node)
    const information = childTexts(node, reportElements[reading.kind].information).join('\n')
    const part = { kind: 'statement end', entries: reading.entries } as const
    reading.parts.push(information === '' ? part : { ...part, information })
    reading.hasStatement = false
    reading.entries = 0
    return 'released'
  }
  if (name === 'GrpHdr') {
    if (reading.hasHead) refuseAt(node, 'a second GrpHdr')
    reading.parts.push({ kind: 'head', head: readHead(node, reading.kind, reading.version) })
    reading.hasHead = true
    return 'released'
  }
  return 'kept'
}

/**
 * Yields the parts of the message in the order of the document, in constant memory. A problem may follow entries, so a
 * caller must read to the end before it acts. Reads versions 02 to 08, and later ones with the same elements.
 */
export async function* readAccountReport(
  source: MessageSource,
  limits?: Partial<MessageLimits>,
): AsyncGenerator<readonly ReportPart[]> {
  const reading: ReportReading = {
    limits: { ...limitsDefault, ...limits },
    kind: 'camt.053',
    version: '',
    parts: [],
    hasHead: false,
    hasStatement: false,
    entries: 0,
    details: [],
    broken: undefined,
  }
  const reader = {
    began: (namespace: string, message: XmlNode) => {
      const { kind, version } = expectMessage(namespace, message, reportKinds)
      reading.kind = kind as ReportKind
      reading.version = version
    },
    onOpen: (node: XmlNode) => onOpened(reading, node),
    ended: (node: XmlNode) => onEnded(reading, node),
  }
  for await (const _ of readTree(source, reader, reading.limits)) {
    const { parts } = reading
    if (parts.length === 0) continue
    reading.parts = []
    yield parts
  }
  if (!reading.hasHead)
    throw new MessageProblem('not_in_schema', 'the message has no GrpHdr', { path: 'Document', line: 1 })
}
